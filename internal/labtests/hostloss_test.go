package labtests

import (
	"syscall"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// family is one VM of each strategy that runs on host1, by name, with the boot that it was in when the family was made.
type family struct {
	w     *world
	uids  map[string]string
	boots map[string]string
}

var strategies = map[string]v1.RunStrategy{
	"always": v1.RunAlways, "rerun": v1.RunRerunOnFailure, "manual": v1.RunManual, "once": v1.RunOnce,
}

// newFamily makes the VMs and waits until their guests beat. In a world of several hosts the others are cordoned meanwhile.
func newFamily(w *world, members ...string) *family {
	w.t.Helper()
	f := &family{w: w, uids: map[string]string{}, boots: map[string]string{}}
	others := w.others()
	for _, h := range others {
		w.cordon(h, true)
	}
	for _, name := range members {
		vm := w.vm(name, strategies[name])
		f.uids[name] = w.create(vm).Metadata.UID
		if strategies[name] == v1.RunManual {
			w.act(name, v1.ActionStart, false)
		}
	}
	for _, name := range members {
		f.boots[name] = w.booted(name)
		w.is(name, v1.PrintableRunning)
	}
	for _, h := range others {
		w.cordon(h, false)
	}
	return f
}

// others are the hosts that the server knows besides host1.
func (w *world) others() []string {
	w.t.Helper()
	hosts, err := w.server.client.ListHosts(w.t.Context(), client.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, h := range hosts.Items {
		if h.Metadata.Name != "host1" {
			names = append(names, h.Metadata.Name)
		}
	}
	return names
}

func (w *world) cordon(host string, on bool) {
	w.t.Helper()
	do := w.server.client.UncordonHost
	if on {
		do = w.server.client.CordonHost
	}
	if _, err := do(w.t.Context(), host); err != nil {
		w.t.Fatal(err)
	}
}

// returned: the guest of the VM was booted once more, and its first instance ended for that reason.
func (f *family) returned(name, reason string) {
	f.w.t.Helper()
	f.w.booted(name, f.boots[name])
	f.endedFor(f.w.is(name, v1.PrintableRunning), reason)
	f.counts(name, 2)
}

// off: the VM is off since its first instance ended for that reason.
func (f *family) off(name, reason string) {
	f.w.t.Helper()
	f.endedFor(f.w.is(name, v1.PrintableStopped), reason)
	f.counts(name, 1)
}

func (f *family) counts(name string, boots int) {
	f.w.t.Helper()
	if n := len(f.w.beat(name).Boots); n != boots {
		f.w.t.Errorf("%s was booted %d times, want %d", name, n, boots)
	}
}

func (f *family) endedFor(vm *v1.VirtualMachine, reason string) {
	f.w.t.Helper()
	if h := vm.Status.History; len(h) != 1 || h[0].Reason != reason || h[0].Message == "" {
		f.w.t.Errorf("%s: the past is %+v, want one instance that ended with %s", vm.Metadata.Name, h, reason)
	}
}

// TestPowerCut: a host loses its power and gets it back. What was to run for good runs again, and what was to run once does not.
func TestPowerCut(t *testing.T) {
	w := newWorld(t, 1)
	f := newFamily(w, "always", "rerun", "manual", "once")
	w.power("host1", false)
	w.power("host1", true)
	f.returned("always", "HostDown")
	f.returned("rerun", "HostDown")
	f.off("manual", "HostDown")
	f.off("once", "HostDown")
}

// TestGracefulReboot: a host shuts its guests down before itself, and each looks as if it had ended by itself. Always may be on its
// way back when the power goes; it is back all the same.
func TestGracefulReboot(t *testing.T) {
	w := newWorld(t, 1)
	f := newFamily(w, "always", "rerun", "manual", "once")
	for _, uid := range f.uids {
		w.shutdown("host1", uid)
	}
	for _, name := range []string{"rerun", "manual", "once"} {
		w.is(name, v1.PrintableStopped)
	}
	w.power("host1", false)
	var before []string
	for _, boot := range w.beat("always").Boots {
		before = append(before, boot.ID)
	}
	w.power("host1", true)
	w.booted("always", before...)
	w.is("always", v1.PrintableRunning)
	f.returned("rerun", "HostDown")
	f.off("manual", "HostDown")
	f.off("once", "HostDown")
}

// TestSigtermIsNotAShutdown: QEMU told to end by its host is a failure; the guest's own shutdown is a wish. The server may miss
// neither of them, nor a restart of libvirtd.
func TestSigtermIsNotAShutdown(t *testing.T) {
	w := newWorld(t, 1)
	f := newFamily(w, "always", "rerun", "once")
	w.server.kill()
	if err := w.lab.RestartLibvirtd(t.Context(), "host1"); err != nil {
		t.Fatal(err)
	}
	w.server.start()
	w.hostIs("host1", v1.HostUp)
	for name := range f.uids {
		w.is(name, v1.PrintableRunning)
		f.counts(name, 1)
	}

	w.shutdown("host1", f.uids["once"])
	w.is("once", v1.PrintableStopped)
	for _, name := range []string{"always", "rerun"} {
		if err := w.lab.KillQEMU("host1", f.uids[name], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	f.returned("always", "HostDown")
	f.returned("rerun", "HostDown")
	f.off("once", "GuestShutdown")

	f.boots["rerun"] = w.booted("rerun")
	w.shutdown("host1", f.uids["rerun"])
	stopped := w.is("rerun", v1.PrintableStopped)
	if end := stopped.Status.History[0]; end.Reason != "GuestShutdown" {
		t.Errorf("the guest shut itself down, and that was taken for %s (%s)", end.Reason, end.Message)
	}
	f.counts("rerun", 2)
}
