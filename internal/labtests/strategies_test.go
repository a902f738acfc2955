package labtests

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/lab"
)

// TestRunStrategies walks through the table of run strategies in docs/concepts.md on real guests: what follows when a guest shuts
// itself down, crashes, or is ended by somebody else, what start, stop and restart do then, and what is kept while the server is dead.
// All guests boot side by side.
func TestRunStrategies(t *testing.T) {
	w := newWorld(t, 2)
	w.countAsShortLived(10 * time.Minute) // however slowly guests boot here
	const off, panics = "hf.off=5", "hf.panic=5"
	broken := w.vm("once-broken", v1.RunOnce, off)
	kernel := broken.Spec.Template.KernelBoot.Kernel
	broken.Spec.Template.KernelBoot.Kernel = "/nonexistent/vmlinuz"
	uid := map[string]string{}
	for _, vm := range []*v1.VirtualMachine{
		broken,
		w.vm("always-off", v1.RunAlways, off),
		w.vm("rerun-off", v1.RunRerunOnFailure, off),
		w.vm("rerun-panic", v1.RunRerunOnFailure, panics),
		w.vm("rerun-destroyed", v1.RunRerunOnFailure),
		w.vm("rerun-unwatched", v1.RunRerunOnFailure),
		w.vm("manual-panic", v1.RunManual, panics),
		w.vm("once-panic", v1.RunOnce, panics),
		w.vm("once", v1.RunOnce),
		w.vm("halted", v1.RunHalted, off),
	} {
		uid[vm.Metadata.Name] = w.create(vm).Metadata.UID
	}

	// Created: Manual and Halted stay off.
	w.refused("halted", v1.ActionStart, "Halted")
	w.refused("halted", v1.ActionRestart, "Halted")
	w.is("halted", v1.PrintableStopped)
	if vm := w.is("manual-panic", v1.PrintableStopped); vm.Status.Instances != 0 {
		t.Errorf("manual-panic was not started, and has had %d instances", vm.Status.Instances)
	}
	w.act("manual-panic", v1.ActionStart, false)

	if out := w.cli("start", "halted", "--run-strategy", "Manual"); !contains(out, "vm/halted: it starts; its run strategy is Manual now") {
		t.Errorf("start with another run strategy says: %s", out)
	}

	// A start that fails is not the one run of a Once VM.
	w.is("once-broken", v1.PrintableBackOff)
	w.says("once-broken", "Its run strategy is Once: the first start that works is its one run.")
	mended := w.status("once-broken")
	mended.Spec.Template.KernelBoot.Kernel = kernel
	if _, err := w.server.client.UpdateVM(t.Context(), mended); err != nil {
		t.Fatal(err)
	}

	// The guest shuts itself down.
	w.boots("always-off", 2)
	w.ended("rerun-off", uid["rerun-off"], "GuestShutdown", 1)
	w.ended("halted", uid["halted"], "GuestShutdown", 1)
	w.ended("once-broken", uid["once-broken"], "GuestShutdown", 1)
	w.says("once-broken", "Stopped: it has had its one run.", "a start is refused")

	// The guest crashes.
	w.ended("manual-panic", uid["manual-panic"], "Crashed", 1)
	w.ended("once-panic", uid["once-panic"], "Crashed", 1)
	eventually(t, "rerun-panic backs off", func() bool {
		vm := w.status("rerun-panic")
		return vm != nil && vm.Status.CrashLoop != nil && vm.Status.CrashLoop.LastFailure.Reason == "Crashed"
	})
	w.boots("rerun-panic", 2)

	// What can be asked for then.
	w.act("rerun-off", v1.ActionStart, false)
	w.act("manual-panic", v1.ActionRestart, false) // it is off: a start
	w.refused("once-panic", v1.ActionStart, "Over")
	w.refused("once-panic", v1.ActionRestart, "Over")
	w.booted("once")
	w.is("once", v1.PrintableRunning)
	w.refused("once", v1.ActionRestart, "Over")
	w.act("once", v1.ActionStop, false)
	for _, name := range []string{"always-off", "rerun-panic"} { // at whichever moment of their loops
		w.act(name, v1.ActionStop, true)
		w.is(name, v1.PrintableStopped)
	}
	w.ended("once", uid["once"], "AsRequested", 1)
	w.refused("once", v1.ActionStart, "Over")
	w.ended("manual-panic", uid["manual-panic"], "Crashed", 2)
	w.ended("rerun-off", uid["rerun-off"], "GuestShutdown", 2)

	// Somebody ends it on its host, without Holdfast.
	w.booted("rerun-destroyed")
	w.is("rerun-destroyed", v1.PrintableRunning)
	h := w.hostOf("rerun-destroyed")
	w.virsh(h, "destroy", uid["rerun-destroyed"])
	w.ended("rerun-destroyed", uid["rerun-destroyed"], "EndedByOutsider", 1)
	w.says("rerun-destroyed", "somebody ended it on the host, not through Holdfast", `It stays off until somebody starts it: "holdfast start rerun-destroyed".`)

	// The guest shuts itself down while the server is dead. It is asked to by its power button, so that the server is dead for certain.
	w.booted("rerun-unwatched")
	w.is("rerun-unwatched", v1.PrintableRunning)
	h = w.hostOf("rerun-unwatched")
	w.server.kill()
	if !slices.Contains(w.domains(h, "--state-running"), uid["rerun-unwatched"]) {
		t.Fatal("rerun-unwatched has ended before its time")
	}
	eventually(t, "rerun-unwatched shuts itself down", func() bool {
		w.virsh(h, "shutdown", uid["rerun-unwatched"])
		return slices.Contains(w.domains(h, "--state-shutoff"), uid["rerun-unwatched"])
	})
	w.server.start()
	w.ended("rerun-unwatched", uid["rerun-unwatched"], "GuestShutdown", 1)

	// What was off stays off under the new leader, and what a start asks for is had.
	w.act("rerun-unwatched", v1.ActionStart, false)
	w.boots("rerun-unwatched", 2)
	for name, boots := range map[string]int{"rerun-off": 2, "rerun-destroyed": 1, "manual-panic": 2, "once-panic": 1, "once": 1, "once-broken": 1, "halted": 1} {
		w.is(name, v1.PrintableStopped)
		if on := w.hostsOf(uid[name], "--all"); len(on) != 0 {
			t.Errorf("%s is off, and defined on %v", name, on)
		}
		if n := len(w.beat(name).Boots); n != boots {
			t.Errorf("%s was booted %d times, want %d", name, n, boots)
		}
	}
}

// countAsShortLived sets how long an instance must live not to make its VM back off, and keeps the back-off short.
func (w *world) countAsShortLived(uptime time.Duration) {
	w.t.Helper()
	config, err := w.server.client.GetConfig(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	config.Spec.CrashLoop = v1.CrashLoopPolicy{InitialDelay: v1.Duration(2 * time.Second), MaxDelay: v1.Duration(4 * time.Second), MinUptime: v1.Duration(uptime)}
	if _, err := w.server.client.UpdateConfig(w.t.Context(), config); err != nil {
		w.t.Fatal(err)
	}
}

// boots waits until that many guests of the VM, or more, have written their heartbeats.
func (w *world) boots(name string, n int) {
	w.t.Helper()
	eventually(w.t, name+" boots once more", func() bool { return len(w.beat(name).Boots) >= n })
}

// ended waits until the VM's last instance has ended for the reason and nothing is left of it, and checks how often its guest was booted.
func (w *world) ended(name, uid, reason string, boots int) {
	w.t.Helper()
	eventually(w.t, name+" has ended and is off", func() bool {
		vm := w.status(name)
		if vm == nil {
			return false
		}
		started := slices.DeleteFunc(vm.Status.History, func(e v1.End) bool { return e.Reason == "StartFailed" })
		return vm.Status.PrintableStatus == v1.PrintableStopped && len(started) == boots && len(vm.Status.Leftovers) == 0
	})
	end := w.status(name).Status.History[0]
	if end.Reason != reason {
		w.t.Errorf("%s ended as %s (%s), want %s", name, end.Reason, end.Message, reason)
	}
	if n := len(w.beat(name).Boots); n != boots {
		w.t.Errorf("%s was booted %d times, want %d", name, n, boots)
	}
	if on := w.hostsOf(uid, "--all"); len(on) != 0 {
		w.t.Errorf("%s has ended, and is defined on %v", name, on)
	}
}

// refused asks for something that the VM's run strategy forbids.
func (w *world) refused(name string, kind v1.ActionType, reason string) {
	w.t.Helper()
	a, err := w.server.client.PostAction(w.t.Context(), "", name, v1.ActionRequest{Type: kind})
	if err != nil {
		w.t.Fatalf("%s %s: %v", kind, name, err)
	}
	if a, err = w.server.client.WaitAction(w.t.Context(), "", a.Metadata.Name); err != nil {
		w.t.Fatalf("%s %s: %v", kind, name, err)
	}
	if a.Status.Phase != v1.ActionRefused || a.Status.Reason != reason {
		w.t.Errorf("%s %s: %s %s (%s), want it refused: %s", kind, name, a.Status.Phase, a.Status.Reason, a.Status.Message, reason)
	}
}

// hostOf is the host of the VM's instance.
func (w *world) hostOf(name string) lab.Host {
	w.t.Helper()
	hosts, err := w.lab.Hosts()
	if err != nil {
		w.t.Fatal(err)
	}
	vm := w.status(name)
	for _, h := range hosts {
		if vm != nil && vm.Status.Instance != nil && vm.Status.Instance.Host == h.Name {
			return h
		}
	}
	w.t.Fatalf("%s has no instance on a host of the lab", name)
	return lab.Host{}
}

// says checks what "holdfast describe vm" says.
func (w *world) says(name string, parts ...string) {
	w.t.Helper()
	page := w.cli("describe", "vm", name)
	for _, part := range parts {
		if !contains(page, part) {
			w.t.Errorf("describe vm %s does not say %q:\n%s", name, part, page)
		}
	}
}

// cli runs a command that has to succeed, and returns what it says.
func (w *world) cli(words ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary(w.t), append([]string{"--socket", w.server.socket}, words...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("holdfast %v: %v\n%s", words, err, out)
	}
	return string(out)
}
