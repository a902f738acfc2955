package libvirt

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenMachine has fixed ids, so that its XML is the same each time.
func goldenMachine(t v1.Template) hypervisor.Machine {
	return hypervisor.Machine{
		ClusterUID: "11111111-1111-4111-8111-111111111111", VMUID: "22222222-2222-4222-8222-222222222222",
		Namespace: "shop", Name: "web", InstanceID: "i1", MachineType: "pc-q35-7.2", CPUModel: "qemu64", Template: t,
	}
}

var goldenTemplates = map[string]struct {
	domainType string
	template   v1.Template
}{
	"minimal": {"kvm", v1.Template{Memory: 512 << 20}},
	"emulated": {"qemu", v1.Template{
		Memory: 64<<20 + 1, RNG: new(false), PanicDevice: new(false), GuestAgent: new(false),
	}},
	"kernel": {"kvm", v1.Template{
		Memory:     128 << 20,
		KernelBoot: &v1.KernelBoot{Kernel: "/boot/vmlinuz", Initrd: "/boot/initrd", Cmdline: "console=ttyS0 a<b&c"},
		Disks:      []v1.Disk{{Name: "data", Pool: "fast", Volume: "web-data", BootOrder: 1}},
		SerialLog:  &v1.SerialLog{Path: "/var/log/guests/web.log"},
	}},
	"cpu": {"kvm", v1.Template{
		Memory: 1 << 30,
		CPU: v1.CPU{Sockets: 2, Cores: 3, Threads: 2, Model: "Skylake-Server",
			Features: []v1.CPUFeature{{Name: "vmx", Policy: "disable"}, {Name: "aes"}}},
	}},
	"host-passthrough": {"kvm", v1.Template{Memory: 1 << 30, CPU: v1.CPU{Cores: 2, Model: "host-passthrough"}}},
	"host-model":       {"kvm", v1.Template{Memory: 1 << 30, CPU: v1.CPU{Model: "host-model"}}},
	"uefi": {"kvm", v1.Template{
		Memory:   1 << 30,
		Firmware: v1.Firmware{Type: v1.FirmwareUEFI, UUID: "33333333-3333-4333-8333-333333333333"},
	}},
	"disks": {"kvm", v1.Template{
		Memory: 1 << 30,
		Disks: []v1.Disk{
			{Name: "root", Pool: "fast", Volume: "web.qcow2"},
			{Name: "data", Path: "/dev/vg/web", Bus: "virtio"},
			{Name: "archive", Path: "/srv/web.img", Bus: "scsi", Format: "qcow2"},
			{Name: "shared", Path: "/srv/cluster.img", Bus: "scsi", Shareable: true},
			{Name: "old", Path: "/srv/old.img", Bus: "sata"},
			{Name: "tools", Path: "/srv/tools.img", ReadOnly: true},
		},
		CDROMs: []v1.CDROM{{Name: "install", Pool: "iso", Volume: "debian.iso"}},
	}},
	"boot-order": {"kvm", v1.Template{
		Memory: 1 << 30,
		Disks:  []v1.Disk{{Name: "root", Path: "/srv/web.img", BootOrder: 2}, {Name: "data", Path: "/srv/data.img"}},
		CDROMs: []v1.CDROM{{Name: "install", Path: "/srv/debian.iso", BootOrder: 1}},
		NICs:   []v1.NIC{{Name: "lan", Network: "default", BootOrder: 3}},
	}},
	"nics": {"kvm", v1.Template{
		Memory: 1 << 30,
		NICs: []v1.NIC{
			{Name: "lan", Network: "default"},
			{Name: "dmz", Bridge: "br7", MAC: "52:54:00:12:34:56", Model: "e1000e"},
		},
	}},
	"cloud-init": {"kvm", v1.Template{
		Memory:    1 << 30,
		Disks:     []v1.Disk{{Name: "root", Pool: "fast", Volume: "web"}},
		CDROMs:    []v1.CDROM{{Name: "tools", Path: "/srv/tools.iso"}},
		CloudInit: &v1.CloudInit{Pool: "fast", UserData: "#cloud-config\n"},
	}},
}

// TestDomainXML compares what each template becomes with the file in testdata. "go test -update" writes the files; read the diff.
func TestDomainXML(t *testing.T) {
	for name, g := range goldenTemplates {
		t.Run(name, func(t *testing.T) {
			got, err := domainXML(goldenMachine(g.template), g.domainType, goldenMedia(g.template))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".xml")
			if *update {
				if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != string(want) {
				t.Errorf("the XML is not that of %s:\n%s", path, got)
			}
		})
	}
}

// goldenMedia puts every volume where a directory pool would, but those of the pool "fast" on a volume group.
func goldenMedia(t v1.Template) *machineMedia {
	found := &machineMedia{}
	at := func(path, pool, volume string) media {
		if path != "" {
			return pathMedia(path)
		}
		return media{path: fmt.Sprintf("/pools/%s/%s", pool, volume), block: pool == "fast" && filepath.Ext(volume) == ""}
	}
	for _, d := range t.Disks {
		found.disks = append(found.disks, at(d.Path, d.Pool, d.Volume))
	}
	for _, c := range t.CDROMs {
		found.cdroms = append(found.cdroms, at(c.Path, c.Pool, c.Volume))
	}
	if t.CloudInit != nil {
		found.seed = new(at("", t.CloudInit.Pool, seedName(goldenMachine(t))))
	}
	return found
}

func TestDeviceName(t *testing.T) {
	for n, want := range map[int]string{0: "vda", 25: "vdz", 26: "vdaa", 51: "vdaz", 52: "vdba", 701: "vdzz", 702: "vdaaa"} {
		if got := deviceName("vd", n); got != want {
			t.Errorf("device %d is %s, want %s", n, got, want)
		}
	}
}

func TestDiskFormat(t *testing.T) {
	for _, test := range []struct {
		disk v1.Disk
		want string
	}{
		{v1.Disk{Path: "/srv/a.img"}, "raw"},
		{v1.Disk{Path: "/srv/a.qcow2"}, "qcow2"},
		{v1.Disk{Pool: "p", Volume: "a.qcow2"}, "qcow2"},
		{v1.Disk{Pool: "p", Volume: "a.qcow2", Format: "raw"}, "raw"},
		{v1.Disk{Pool: "p", Volume: "a", Format: "qcow2"}, "qcow2"},
	} {
		if got := diskFormat(test.disk); got != test.want {
			t.Errorf("%+v has format %s, want %s", test.disk, got, test.want)
		}
	}
}
