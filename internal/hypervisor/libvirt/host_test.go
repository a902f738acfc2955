package libvirt

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/conformance"
	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// patience is enough for an emulated guest to boot while the machine has other things to do.
const patience = 3 * time.Minute

// site is a real host, and a connection to it.
type site struct {
	*testing.T
	lab   *lab.Lab
	host  lab.Host
	guest labtest.Files
	conn  *conn
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, guest: labtest.Guest(t), lab: labtest.Shared(t, 1)}
	hosts, err := s.lab.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	s.host = hosts[0]
	s.conn = connect(t, s.host.URI)
	return s
}

func connect(t *testing.T, uri string) *conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := Driver{}.Connect(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*conn)
}

// address of the host's libvirtd.
func (s *site) address() string {
	u, err := url.Parse(s.host.URI)
	if err != nil {
		s.Fatal(err)
	}
	return net.JoinHostPort(u.Hostname(), tcpPort)
}

// machine describes a machine that boots the test guest, which behaves as the arguments on its kernel's command line say.
func (s *site) machine(arguments ...string) hypervisor.Machine {
	uid := uuid.NewString()
	return hypervisor.Machine{
		ClusterUID: "0d9f7ab0-7a5c-4a3c-9f0e-1f3a0f6c7b11", VMUID: uid, Namespace: "default", Name: "guest",
		InstanceID: "i1", MachineType: "pc-q35-7.2", CPUModel: "qemu64",
		Template: v1.Template{
			Memory: 96 << 20,
			KernelBoot: &v1.KernelBoot{
				Kernel: s.guest.Kernel, Initrd: s.guest.Initrd,
				Cmdline: strings.Join(append([]string{labtest.Cmdline}, arguments...), " "),
			},
			SerialLog: &v1.SerialLog{Path: filepath.Join(s.lab.Shared(), uid+".serial")},
		},
	}
}

// define makes the machine known, and removes it again when the test ends.
func (s *site) define(m hypervisor.Machine) {
	s.Helper()
	s.must("define", s.conn.Define(s.Context(), m))
	s.Cleanup(func() {
		c, ctx := connect(s.T, s.host.URI), context.Background()
		if d, found, err := c.Look(ctx, m.VMUID); err == nil && found {
			s.must("destroy at the end", c.Destroy(ctx, m.VMUID, d.InstanceID))
			s.must("undefine at the end", c.Undefine(ctx, m.VMUID, d.InstanceID, true))
		}
	})
}

func (s *site) start(m hypervisor.Machine) {
	s.Helper()
	s.define(m)
	s.must("create", s.conn.Create(s.Context(), m.VMUID, m.InstanceID))
}

func (s *site) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// serial is what the machine's guests have written.
func (s *site) serial(m hypervisor.Machine) string {
	s.Helper()
	text, err := os.ReadFile(m.Template.SerialLog.Path)
	s.must("read the serial log", err)
	return string(text)
}

// eventually tries until ok holds.
func (s *site) eventually(what string, ok func() bool) {
	s.Helper()
	late := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			s.Fatalf("never happened: %s", what)
		}
	}
}

// boots waits until the machine's guests have come up that often, and returns their boot ids.
func (s *site) boots(m hypervisor.Machine, n int) []string {
	s.Helper()
	var ids []string
	s.eventually("the guest comes up", func() bool {
		ids = nil
		for line := range strings.Lines(s.serial(m)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "holdfast-guest boot="); ok && strings.HasSuffix(rest, " up") {
				id, _, _ := strings.Cut(rest, " ")
				ids = append(ids, id)
			}
		}
		return len(ids) >= n
	})
	return ids
}

// ends waits until the machine is off, and returns what the events said about it.
func (s *site) ends(m hypervisor.Machine) string {
	s.Helper()
	late := time.After(patience)
	for {
		select {
		case ev := <-s.conn.Events():
			if ev.UUID == m.VMUID && ev.Ended != "" {
				return ev.Ended
			}
		case <-late:
			s.Fatal("no event told how the guest ended")
		}
	}
}

// TestFrozenHostSaysWhatToDo: whoever reads that a host hung gets to know how long it was waited for, and what to look at.
func TestFrozenHostSaysWhatToDo(t *testing.T) {
	s := newSite(t)
	other := connect(t, s.host.URI)
	s.must("freeze", s.lab.Freeze(s.host.Name))
	defer func() { s.must("thaw", s.lab.Thaw(s.host.Name)) }()
	for op, call := range map[string]func(context.Context) error{
		"list domains":           func(ctx context.Context) error { _, err := s.conn.List(ctx); return err },
		"ask for a sign of life": func(ctx context.Context) error { _, _, err := other.Look(ctx, uuid.Nil.String()); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := call(ctx)
		cancel()
		want := "libvirtd has not answered within 1s (" + op + "); see whether it hangs: virsh list on the host, and its log"
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("got error %v, want the deadline's, as: %s", err, want)
		}
	}
}

// TestConformance runs the suite that simulated hosts pass too.
func TestConformance(t *testing.T) {
	s := newSite(t)
	s.must("close", s.conn.Close())
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("libvirt", func(t *testing.T) { // so that all its cleanups have run before leaks are looked for
		p := newProxy(t, s.address())
		freeze := func() {
			if err := s.lab.Freeze(s.host.Name); err != nil {
				t.Error(err)
			}
		}
		thaw := func() {
			if err := s.lab.Thaw(s.host.Name); err != nil {
				t.Error(err)
			}
		}
		conformance.Run(t, conformance.Fixture{
			Driver: Driver{},
			URI:    p.uri(),
			Machine: func(_ *testing.T, guest conformance.Guest) hypervisor.Machine {
				switch guest {
				case conformance.Deaf:
					return s.machine("hf.acpi=ignore")
				case conformance.PowersOff:
					return s.machine("hf.off=0")
				case conformance.Panics:
					return s.machine("hf.panic=0")
				case conformance.Unstartable:
					m := s.machine()
					m.Template.KernelBoot.Kernel = "/nowhere/vmlinuz"
					return m
				default:
					return s.machine()
				}
			},
			Foreign:        func(t *testing.T) string { return startForeign(t, s.host.URI) },
			Freeze:         func(*testing.T) func() { freeze(); return thaw },
			FreezeAtCreate: func(*testing.T) func() { p.before(startRequest, freeze); return thaw },
			Pool:           "shared",
			FreezeAtSeed: func(t *testing.T) func() {
				p.before(uploadedData, freeze)
				return func() {
					if p.take(uploadedData) != nil {
						t.Error("no seed was uploaded")
					}
					thaw()
				}
			},
			Cut:      func(*testing.T) { p.cut() },
			Patience: patience,
		})
	})
}
