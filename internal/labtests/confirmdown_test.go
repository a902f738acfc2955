package labtests

import (
	"slices"
	"syscall"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// TestConfirmDown: a host is gone. The other one goes on serving; what ran on the lost one starts elsewhere when a person says that
// it is down, not before; and when it returns, it gets nothing back.
func TestConfirmDown(t *testing.T) {
	w := newWorld(t, 2)
	defer w.onFailure()
	f := newFamily(w, "always", "rerun", "manual", "once")
	if _, err := w.server.client.ConfirmHostDown(t.Context(), "host1"); !client.IsConflict(err) {
		t.Errorf("the word that a host is down which answers was taken: %v", err)
	}
	w.cordon("host1", true) // what is asked for below shall not go to a host whose loss has not been noticed yet
	w.power("host1", false)

	other := w.vm("other", v1.RunManual)
	w.create(other)
	begin := time.Now()
	w.act("other", v1.ActionStart, false)
	w.booted("other")
	w.act("other", v1.ActionStop, true)
	w.is("other", v1.PrintableStopped)
	t.Logf("a VM on the other host was started and stopped in %s", time.Since(begin).Round(time.Millisecond))

	w.hostIs("host1", v1.HostUnreachable)
	for name := range f.uids {
		w.is(name, v1.PrintableUnknown)
		f.counts(name, 1)
	}
	if on := w.domains(w.host("host2"), "--all"); len(on) != 0 {
		t.Errorf("nobody has said that host1 is down, and host2 has %v", on)
	}

	if _, err := w.server.client.ConfirmHostDown(t.Context(), "host1"); err != nil {
		t.Fatal(err)
	}
	f.returned("always", "HostLost")
	f.returned("rerun", "HostLost")
	f.off("manual", "HostLost")
	f.off("once", "HostLost")

	w.power("host1", true)
	w.hostIs("host1", v1.HostUp)
	eventually(t, "host1 has nothing of theirs any more", func() bool { return len(w.domains(w.host("host1"), "--all")) == 0 })
	for _, name := range []string{"always", "rerun"} {
		if on := w.hostsOf(f.uids[name], "--state-running"); !slices.Equal(on, []string{"host2"}) {
			t.Errorf("%s runs on %v, want host2 alone", name, on)
		}
		f.counts(name, 2)
	}
}

// TestFalseWord: a host is only cut off, and a person says that it is down. That is the one way to let a VM run twice, and it ends
// the moment that the host is back. Where the disk's file system knows locks, QEMU itself keeps the second writer out.
func TestFalseWord(t *testing.T) {
	w := newWorld(t, 2)
	defer w.onFailure()
	f := newFamily(w, "always")
	w.cordon("host2", true)
	bare := w.vm("bare", v1.RunAlways)
	bare.Spec.Template.Disks = nil
	uid := w.create(bare).Metadata.UID
	w.is("bare", v1.PrintableRunning)
	w.cordon("host2", false)
	w.cordon("host1", true) // what starts again shall not be back there

	if err := w.lab.Unplug(t.Context(), "host1"); err != nil {
		t.Fatal(err)
	}
	w.hostIs("host1", v1.HostUnreachable)
	w.is("bare", v1.PrintableUnknown)
	if _, err := w.server.client.ConfirmHostDown(t.Context(), "host1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bare runs on host2", func() bool { return slices.Contains(w.domains(w.host("host2"), "--state-running"), uid) })
	if err := w.lab.KillQEMU("host1", uid, syscall.Signal(0)); err != nil {
		t.Fatalf("the test proves nothing: host1 does not run it any more: %v", err)
	}

	if err := w.lab.Plug(t.Context(), "host1"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{uid, f.uids["always"]} {
		eventually(t, "exactly one is left, on host2", func() bool {
			return slices.Equal(w.hostsOf(id, "--all"), []string{"host2"}) && len(w.hostsOf(id, "--state-running")) == 1
		})
	}
	w.is("bare", v1.PrintableRunning)
	w.booted("always", f.boots["always"])
	w.is("always", v1.PrintableRunning)
	f.counts("always", 2)
	for _, name := range []string{"always", "bare"} {
		eventually(t, "an event says what was done to "+name, func() bool { return w.told(name, "SupersededInstance") })
	}
}

// told reports whether there is an event about the VM with that reason.
func (w *world) told(vm, reason string) bool {
	events, err := w.server.client.ListEvents(w.t.Context(), "default", client.EventOptions{Kind: v1.KindVirtualMachine, Name: vm})
	return err == nil && slices.ContainsFunc(events.Items, func(e v1.Event) bool { return e.Reason == reason })
}
