package labtests

import (
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// TestLife follows one VM from its manifest to a booted guest and back.
func TestLife(t *testing.T) {
	w := newWorld(t, 2)
	vm := w.create(w.vm("web", v1.RunAlways))
	uuid := vm.Metadata.UID
	first := w.booted("web")
	w.is("web", v1.PrintableRunning)
	if on := w.hostsOf(uuid, "--state-running"); len(on) != 1 {
		t.Fatalf("it runs on %v, want one host", on)
	}

	w.act("web", v1.ActionRestart, false)
	second := w.booted("web", first)
	w.is("web", v1.PrintableRunning)

	w.act("web", v1.ActionStop, false)
	stopped := w.is("web", v1.PrintableStopped)
	if on := w.hostsOf(uuid, "--all"); len(on) != 0 {
		t.Fatalf("it is stopped, and defined on %v", on)
	}
	if end := stopped.Status.History[0]; end.Reason != "AsRequested" {
		t.Errorf("it ended as %s (%s)", end.Reason, end.Message)
	}

	// A stopped VM outlives the server, and so does its hold.
	w.server.kill()
	w.server.start()
	w.is("web", v1.PrintableStopped)

	w.act("web", v1.ActionStart, false)
	third := w.booted("web", first, second)
	w.is("web", v1.PrintableRunning)

	// A running guest does not notice that the server dies.
	w.server.kill()
	w.server.start()
	w.is("web", v1.PrintableRunning)
	if boot, _ := w.beat("web").Running(); boot.ID != third {
		t.Errorf("the guest was booted again (%s, then %s) although nobody asked", third, boot.ID)
	}

	if _, err := w.server.client.DeleteVM(t.Context(), "", "web", client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.gone("web")
	if on := w.hostsOf(uuid, "--all"); len(on) != 0 {
		t.Errorf("it is deleted, and defined on %v", on)
	}
	if boots := w.beat("web").Boots; len(boots) != 3 {
		t.Errorf("its disk has %d boots, want the three that were asked for", len(boots))
	}
}

// TestFailedStartKeepsTheCause: what QEMU or libvirt says about a start that fails reaches the user, and the VM backs off.
func TestFailedStartKeepsTheCause(t *testing.T) {
	w := newWorld(t, 1)
	broken := w.vm("broken", v1.RunAlways)
	broken.Spec.Template.KernelBoot.Kernel = "/nonexistent/vmlinuz"
	w.create(broken)
	vm := w.is("broken", v1.PrintableBackOff)
	if loop := vm.Status.CrashLoop; loop == nil || loop.LastFailure.Reason != "StartFailed" || !contains(loop.LastFailure.Message, "/nonexistent/vmlinuz") {
		t.Errorf("crash loop %+v does not say which file is missing", vm.Status.CrashLoop)
	}
	w.act("broken", v1.ActionStop, false)
	w.is("broken", v1.PrintableStopped)
}
