package libvirt

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// volume makes a volume in the pool "shared" and returns its name.
func (s *site) volume(name, format string, bytes uint64) string {
	s.Helper()
	name = strings.ReplaceAll(s.Name(), "/", "-") + "-" + name
	s.must("make a volume", s.conn.work(s.Context(), "make a volume", func(v *golibvirt.Libvirt) error {
		pool, err := v.StoragePoolLookupByName("shared")
		if err != nil {
			return err
		}
		_, err = v.StorageVolCreateXML(pool, fmt.Sprintf(
			`<volume><name>%s</name><capacity>%d</capacity><target><format type='%s'/></target></volume>`, name, bytes, format), 0)
		return err
	}))
	s.Cleanup(func() { _ = os.Remove(filepath.Join(s.lab.Shared(), name)) })
	return name
}

// TestGuestSeesItsMachine boots one guest with nearly everything, and believes only what the guest says.
func TestGuestSeesItsMachine(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	m.Template.CPU = v1.CPU{Sockets: 1, Cores: 2}
	m.Template.Memory = 128 << 20
	m.Template.Firmware.UUID = "5ff21f0f-6d0e-4b12-9a3c-0a4c1b7f9d21"
	m.Template.Disks = []v1.Disk{
		{Name: "root", Pool: "shared", Volume: s.volume("root", "raw", 4<<20)},
		{Name: "data", Pool: "shared", Volume: s.volume("data.qcow2", "qcow2", 8<<20)},
		{Name: "tools", Path: filepath.Join(s.lab.Shared(), s.volume("tools", "raw", 2<<20)), ReadOnly: true},
		{Name: "archive", Pool: "shared", Volume: s.volume("archive", "raw", 1<<20), Bus: "scsi"},
		{Name: "more", Pool: "shared", Volume: s.volume("more", "qcow2", 1<<20), Bus: "scsi", Format: "qcow2"},
		{Name: "old", Pool: "shared", Volume: s.volume("old", "raw", 1<<20), Bus: "sata"},
	}
	m.Template.CDROMs = []v1.CDROM{{Name: "install", Pool: "shared", Volume: s.volume("install.iso", "raw", 1<<20)}}
	m.Template.NICs = []v1.NIC{{Name: "lan", Network: "default"}, {Name: "dmz", Bridge: "br0", Model: "e1000e", MAC: "52:54:00:aa:bb:cc"}}
	m.Template.CloudInit = &v1.CloudInit{Pool: "shared", UserData: "#cloud-config\n", NetworkData: "version: 2\n"}
	s.start(m)
	s.boots(m, 1)
	said := s.serial(m)
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for _, line := range []string{
		"machine cpus=2 ", "firmware=bios rng=virtio_rng",
		"vm=" + m.Template.Firmware.UUID + " up",
		"disk vda bytes=4194304 ro=0 serial=root",
		"disk vdb bytes=8388608 ro=0 serial=data",
		"disk vdc bytes=2097152 ro=1 serial=tools",
		"serial=cloud-init",
		"mac=" + m.Template.NICs[0].EffectiveMAC(m.VMUID),
		"port org.qemu.guest_agent.0",
		"seed user-data sha256=" + hash("#cloud-config\n"),
		"seed network-config sha256=" + hash("version: 2\n"),
		"seed meta-data sha256=" + hash(seedFiles(m)["meta-data"]),
	} {
		if !strings.Contains(said, line) {
			t.Errorf("the guest did not say %q", line)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}

// TestGuestOnEveryBoard boots what differs in firmware or machine type.
func TestGuestOnEveryBoard(t *testing.T) {
	s := newSite(t)
	facts, err := s.conn.Facts(t.Context())
	s.must("facts", err)
	uefi := s.machine()
	uefi.Template.Firmware.Type = v1.FirmwareUEFI
	uefi.Template.Memory = 256 << 20
	pc := s.machine()
	pc.MachineType = facts.MachineTypes["pc"]
	pc.Template.RNG, pc.Template.PanicDevice, pc.Template.GuestAgent = new(false), new(false), new(false)
	pc.Template.Disks = []v1.Disk{{Name: "old", Pool: "shared", Volume: s.volume("old", "raw", 1<<20), Bus: "sata"}}
	for name, board := range map[string]struct {
		machine hypervisor.Machine
		says    string
	}{
		"uefi": {uefi, "firmware=uefi"}, "old and bare": {pc, "firmware=bios rng=none"},
	} {
		t.Run(name, func(t *testing.T) {
			if board.machine.Template.Firmware.Type == v1.FirmwareUEFI && !facts.UEFI {
				t.Fatal("libvirt finds no UEFI firmware on the host, though the package ovmf is there")
			}
			s.start(board.machine)
			s.boots(board.machine, 1)
			if said := s.serial(board.machine); !strings.Contains(said, board.says) {
				t.Errorf("the guest did not say %q:\n%s", board.says, said)
			}
		})
	}
}

// TestSeedGoesWithItsInstance: each definition has a seed of its own, and takes it along when it goes.
func TestSeedGoesWithItsInstance(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	m.Template.CloudInit = &v1.CloudInit{Pool: "shared", UserData: "#cloud-config\n"}
	seed := func() string { return filepath.Join(s.lab.Shared(), seedName(m)) }
	s.define(m)
	// A define that nobody waited for may have left a seed that libvirt does not know.
	s.must("write over the seed", os.WriteFile(seed(), []byte("stale"), 0o600))
	s.must("define again", s.conn.Define(t.Context(), m))
	image, err := os.ReadFile(seed())
	if err != nil || !strings.Contains(string(image), "#cloud-config") {
		t.Errorf("the seed was not written anew: %d bytes (error %v)", len(image), err)
	}
	s.must("undefine", s.conn.Undefine(t.Context(), m.VMUID, m.InstanceID, false))
	if _, err := os.Stat(seed()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the seed outlived its instance (error %v)", err)
	}

	s.must("define once more", s.conn.Define(t.Context(), m))
	s.must("remove the seed", os.Remove(seed()))
	s.must("undefine without a seed", s.conn.Undefine(t.Context(), m.VMUID, m.InstanceID, true))
}

// TestSeedsDoNotPileUp: what failed defines and earlier instances have written does not stay, and nobody else's seed is touched.
func TestSeedsDoNotPileUp(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	m.Name = "seeds"
	m.Template.CloudInit = &v1.CloudInit{Pool: "shared", UserData: "#cloud-config\n"}
	neighbour := s.machine()
	neighbour.Name, neighbour.Template.CloudInit = m.Name, m.Template.CloudInit
	s.define(neighbour)
	expect := func(when string, want ...string) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(s.lab.Shared(), "default.seeds.*"))
		s.must("look for seeds", err)
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		slices.Sort(found)
		want = append(want, seedName(neighbour))
		slices.Sort(want)
		if !slices.Equal(found, want) {
			t.Errorf("%s: the pool holds the seeds %v, want %v", when, found, want)
		}
	}

	refused := m
	refused.MachineType = "no-such-board"
	var he *hypervisor.HostError
	if err := s.conn.Define(t.Context(), refused); !errors.As(err, &he) {
		t.Errorf("define with an unknown machine type: %v, want a HostError", err)
	}
	expect("after a define was refused")

	abandoned := m
	abandoned.InstanceID = "i0" // nobody waited for its define, which came as far as the seed
	s.must("write a seed", s.conn.putVolume(t.Context(), "write a seed", volumeRef{Pool: "shared", Volume: seedName(abandoned)}, []byte("secret")))
	s.define(m)
	expect("after a define whose answer was lost, and the next one", seedName(m))

	refused = m
	refused.MachineType = "no-such-board"
	if err := s.conn.Define(t.Context(), refused); !errors.As(err, &he) {
		t.Errorf("define with an unknown machine type: %v, want a HostError", err)
	}
	expect("after the same instance's next define was refused", seedName(m))

	next := m
	next.InstanceID = "i2"
	s.must("define the next instance", s.conn.Define(t.Context(), next))
	expect("after the next instance was defined", seedName(next))
	s.must("write a seed", s.conn.putVolume(t.Context(), "write a seed", volumeRef{Pool: "shared", Volume: seedName(abandoned)}, []byte("secret")))
	s.must("undefine", s.conn.Undefine(t.Context(), next.VMUID, next.InstanceID, true))
	expect("after the VM is gone")
}

// TestFirmwareState: NVRAM outlives a definition, but not its VM.
func TestFirmwareState(t *testing.T) {
	s := newSite(t)
	if facts, err := s.conn.Facts(t.Context()); err != nil || !facts.UEFI {
		t.Fatalf("libvirt finds no UEFI firmware on the host, though the package ovmf is there (error %v)", err)
	}
	m := s.machine()
	m.Template.Firmware.Type = v1.FirmwareUEFI
	nvram := fmt.Sprintf("/proc/%d/root/var/lib/libvirt/qemu/nvram/%s_VARS.fd", s.host.PID, m.DomainName())
	s.start(m)
	s.must("destroy", s.conn.Destroy(t.Context(), m.VMUID, m.InstanceID))
	s.must("undefine", s.conn.Undefine(t.Context(), m.VMUID, m.InstanceID, false))
	if _, err := os.Stat(nvram); err != nil {
		t.Errorf("the NVRAM went with the definition: %v", err)
	}
	s.must("define again", s.conn.Define(t.Context(), m))
	s.must("undefine with state", s.conn.Undefine(t.Context(), m.VMUID, m.InstanceID, true))
	if _, err := os.Stat(nvram); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the NVRAM outlived its VM (error %v)", err)
	}
}

// TestSavedStateIsNotResumed: a create boots, whatever somebody has saved. What the new boot writes is appended to the serial log.
func TestSavedStateIsNotResumed(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	s.start(m)
	first := s.boots(m, 1)
	d, _, err := s.conn.Look(t.Context(), m.VMUID)
	s.must("look", err)
	s.must("save", s.conn.work(t.Context(), "save", func(v *golibvirt.Libvirt) error { return v.DomainManagedSave(handle(&d), 0) }))
	d, _, err = s.conn.Look(t.Context(), m.VMUID)
	if err != nil || d.State != hypervisor.DomainInactive || d.Why != hypervisor.WhySaved {
		t.Fatalf("after a save the domain is %+v (error %v)", d, err)
	}
	s.must("create", s.conn.Create(t.Context(), m.VMUID, m.InstanceID))
	both := s.boots(m, 2)
	if both[0] != first[0] || both[1] == both[0] {
		t.Errorf("boots before the save: %v, after: %v; want the old one kept in the log and a new one", first, both)
	}
}

// TestEndsFromOutside: what the host does to QEMU is told apart from what the guest does.
func TestEndsFromOutside(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		signal     syscall.Signal
		ended, why string
	}{
		{syscall.SIGTERM, endedByHost, hypervisor.WhyShutdown},
		{syscall.SIGKILL, hypervisor.WhyCrashed, hypervisor.WhyCrashed},
	} {
		m := s.machine()
		s.start(m)
		s.must("signal QEMU", s.lab.KillQEMU(s.host.Name, m.VMUID, test.signal))
		if got := s.ends(m); got != test.ended {
			t.Errorf("after %v the event says %q, want %q", test.signal, got, test.ended)
		}
		s.eventually("the domain is inactive", func() bool {
			d, _, err := s.conn.Look(t.Context(), m.VMUID)
			return err == nil && d.State == hypervisor.DomainInactive && d.Why == test.why
		})
	}
}

// TestPausedIsSeen: somebody's pause is a state with a reason.
func TestPausedIsSeen(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	s.start(m)
	d, _, err := s.conn.Look(t.Context(), m.VMUID)
	s.must("look", err)
	s.must("pause", s.conn.ask(t.Context(), "pause", func(v *golibvirt.Libvirt) error { return v.DomainSuspend(handle(&d)) }))
	d, _, err = s.conn.Look(t.Context(), m.VMUID)
	if err != nil || d.State != hypervisor.DomainPaused || d.Why != hypervisor.WhyUser || d.Memory != m.Template.Memory {
		t.Errorf("a paused domain is %+v (error %v)", d, err)
	}
}

// TestMissingStorage: what the host lacks is named, before the domain is defined.
func TestMissingStorage(t *testing.T) {
	s := newSite(t)
	for name, test := range map[string]struct {
		change func(*v1.Template)
		says   []string
	}{
		"volume": {func(t *v1.Template) { t.Disks = []v1.Disk{{Name: "d", Pool: "shared", Volume: "none"}} }, []string{`"shared"`, `"none"`}},
		"pool":   {func(t *v1.Template) { t.CDROMs = []v1.CDROM{{Name: "c", Pool: "gone", Volume: "x"}} }, []string{`"gone"`, "no storage pool"}},
		"seed":   {func(t *v1.Template) { t.CloudInit = &v1.CloudInit{Pool: "gone"} }, []string{`"gone"`, "no storage pool"}},
	} {
		m := s.machine()
		test.change(&m.Template)
		err := s.conn.Define(t.Context(), m)
		var he *hypervisor.HostError
		if !errors.As(err, &he) {
			t.Errorf("%s: got error %v, want a HostError", name, err)
			continue
		}
		for _, word := range test.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error does not say %s: %v", name, word, err)
			}
		}
		if _, found, _ := s.conn.Look(t.Context(), m.VMUID); found {
			t.Errorf("%s: the domain is defined all the same", name)
		}
	}
}

// TestVolumeOfAnotherHost: a volume that appeared behind libvirt's back is found.
func TestVolumeOfAnotherHost(t *testing.T) {
	s := newSite(t)
	m := s.machine()
	path := filepath.Join(s.lab.Shared(), m.VMUID+".img")
	s.must("make a file", os.WriteFile(path, make([]byte, 4096), 0o600))
	m.Template.Disks = []v1.Disk{{Name: "d", Pool: "shared", Volume: m.VMUID + ".img"}}
	s.define(m)
}

// TestRefusedStartSaysWhy: QEMU's and libvirt's own words reach the error.
func TestRefusedStartSaysWhy(t *testing.T) {
	s := newSite(t)
	for says, change := range map[string]func(*v1.Template){
		"/nowhere/disk.img": func(t *v1.Template) { t.Disks = []v1.Disk{{Name: "d", Path: "/nowhere/disk.img"}} },
		"/nowhere/cd.iso":   func(t *v1.Template) { t.CDROMs = []v1.CDROM{{Name: "c", Path: "/nowhere/cd.iso"}} },
		"nonet":             func(t *v1.Template) { t.NICs = []v1.NIC{{Name: "n", Network: "nonet"}} },
		"/nowhere/log":      func(t *v1.Template) { t.SerialLog.Path = "/nowhere/log" },
	} {
		m := s.machine()
		change(&m.Template)
		s.define(m)
		var he *hypervisor.HostError
		err := s.conn.Create(t.Context(), m.VMUID, m.InstanceID)
		if !errors.As(err, &he) || !strings.Contains(he.Message, says) {
			t.Errorf("got error %v, want a HostError that names %s", err, says)
		}
	}
}
