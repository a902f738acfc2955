package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
	"github.com/google/uuid"

	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/heartbeat"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

// eventually waits until ok holds; it gives up long after anything that works would have happened.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// connect opens a connection to a host's libvirtd for the rest of the test.
func connect(t *testing.T, h lab.Host) *libvirt.Libvirt {
	t.Helper()
	conn, err := net.DialTimeout("tcp", h.Address+":16509", 5*time.Second)
	if err != nil {
		t.Fatalf("connect to host %s: %v", h.Name, err)
	}
	lv := libvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	// The connection may be of no use any more, after a power cut: that is not waited for.
	t.Cleanup(func() { _ = conn.Close() })
	if err := lv.Connect(); err != nil {
		t.Fatalf("connect to host %s: %v", h.Name, err)
	}
	return lv
}

// guest is a test guest with a heartbeat disk in the shared pool.
type guest struct {
	t                    *testing.T
	name, uuid           string
	domain               libvirt.Domain
	serialPath, diskPath string
}

const guestMAC = "52:54:00:00:00:07"

// startGuest defines and starts a guest on a host. The domain is destroyed and undefined at the end of the test, if it is there.
func startGuest(t *testing.T, l *lab.Lab, files labtest.Files, h lab.Host, name, cmdline string) *guest {
	t.Helper()
	g := &guest{t: t, name: name, uuid: uuid.NewString(),
		serialPath: filepath.Join(l.Shared(), name+".log"), diskPath: filepath.Join(l.Shared(), name+".img")}
	if err := os.WriteFile(g.diskPath, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(g.diskPath, 1<<20); err != nil {
		t.Fatal(err)
	}
	g.define(l, files, h, cmdline)
	g.start(h)
	return g
}

func (g *guest) define(l *lab.Lab, files labtest.Files, h lab.Host, cmdline string) {
	g.t.Helper()
	seed := filepath.Join(l.Shared(), g.name+"-seed.iso")
	if err := os.WriteFile(seed, seedImage("user-data", []byte(seedText)), 0o600); err != nil {
		g.t.Fatal(err)
	}
	kind := map[string]string{"kvm": "kvm", "tcg": "qemu"}[l.Accelerator()]
	xml := fmt.Sprintf(`<domain type='%s'><name>%s</name><uuid>%s</uuid><memory unit='MiB'>96</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s %s</cmdline></os>
<features><acpi/></features><cpu mode='custom' match='exact'><model>qemu64</model></cpu>
<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<disk type='file' device='disk'><driver name='qemu' type='raw' cache='none'/><source file='%s'/><target dev='vda' bus='virtio'/>
 <shareable/><serial>heartbeat</serial></disk>
<disk type='file' device='cdrom'><source file='%s'/><target dev='sda' bus='scsi'/><readonly/></disk>
<controller type='scsi' model='virtio-scsi'/>
<interface type='network'><source network='default'/><mac address='%s'/><model type='virtio'/></interface>
<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
<serial type='file'><source path='%s' append='on'/><target port='0'/></serial>
<panic model='isa'/><memballoon model='none'/></devices></domain>`,
		kind, g.name, g.uuid, files.Kernel, files.Initrd, labtest.Cmdline, cmdline, g.diskPath, seed, guestMAC, g.serialPath)
	domain, err := connect(g.t, h).DomainDefineXML(xml)
	if err != nil {
		g.t.Fatalf("define guest %s: %v", g.name, err)
	}
	g.domain = domain
	g.t.Cleanup(func() {
		g.remove(l)
		if said, err := os.ReadFile(g.serialPath); err == nil && g.t.Failed() {
			g.t.Logf("guest %s said:\n%s", g.name, said)
		}
	})
}

func (g *guest) start(h lab.Host) {
	g.t.Helper()
	if err := connect(g.t, h).DomainCreate(g.domain); err != nil {
		g.t.Fatalf("start guest %s: %v", g.name, err)
	}
}

// remove forgets the guest wherever it is. Hosts that are off by then forget it with the lab.
func (g *guest) remove(l *lab.Lab) {
	hosts, err := l.Hosts()
	if err != nil {
		return
	}
	for _, h := range hosts {
		if h.State == lab.On {
			lv := connect(g.t, h)
			_ = lv.DomainDestroy(g.domain)
			_ = lv.DomainUndefine(g.domain)
		}
	}
}

func (g *guest) serial() heartbeat.Serial {
	g.t.Helper()
	s, err := heartbeat.ReadSerial(g.serialPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.t.Fatal(err)
	}
	return s
}

func (g *guest) disk() heartbeat.Log {
	g.t.Helper()
	l, err := heartbeat.ReadDisk(g.diskPath)
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

// beats waits for another heartbeat, on serial line and disk, of the guest's boot number `boots` and returns its id.
func (g *guest) beats(boots int) string {
	g.t.Helper()
	serial, disk := last(g.serial().Log), last(g.disk())
	eventually(g.t, fmt.Sprintf("heartbeat of guest %s in boot %d", g.name, boots), func() bool {
		s, d := g.serial().Log, g.disk()
		return len(s.Boots) == boots && len(d.Boots) == boots && last(s).Beats > serial.beatsOf(last(s)) &&
			last(d).Beats > disk.beatsOf(last(d))
	})
	return last(g.disk()).ID
}

type lastBoot struct{ heartbeat.Boot }

// beatsOf is how many heartbeats b had; none when it is another boot.
func (l lastBoot) beatsOf(b lastBoot) int {
	if l.ID != b.ID {
		return 0
	}
	return l.Beats
}

func last(l heartbeat.Log) lastBoot {
	b, _ := l.Running()
	return lastBoot{b}
}

// state of the domain on a host, as libvirt's numbers.
func (g *guest) state(h lab.Host) (state libvirt.DomainState, reason int32) {
	g.t.Helper()
	s, r, err := connect(g.t, h).DomainGetState(g.domain, 0)
	if err != nil {
		g.t.Fatalf("state of guest %s on %s: %v", g.name, h.Name, err)
	}
	return libvirt.DomainState(s), r
}

func (g *guest) off(h lab.Host) bool {
	g.t.Helper()
	s, _ := g.state(h)
	return s == libvirt.DomainShutoff
}

// lockedBuffer is a buffer that a process writes while the test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// answers reports whether the host's libvirtd answers a call within some time.
func answers(ctx context.Context, h lab.Host) bool {
	d := net.Dialer{Timeout: 500 * time.Millisecond}
	conn, err := d.DialContext(ctx, "tcp", h.Address+":16509")
	if err != nil {
		return false
	}
	defer conn.Close()
	timer := time.AfterFunc(500*time.Millisecond, func() { _ = conn.Close() })
	defer timer.Stop()
	return libvirt.NewWithDialer(dialers.NewAlreadyConnected(conn)).Connect() == nil
}
