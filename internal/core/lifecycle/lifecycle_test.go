package lifecycle

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func TestWantsOn(t *testing.T) {
	hold, run, done := &v1.Hold{}, &v1.Run{}, &v1.Finished{}
	for _, c := range []struct {
		strategy v1.RunStrategy
		status   v1.VirtualMachineStatus
		want     bool
	}{
		{v1.RunAlways, v1.VirtualMachineStatus{}, true},
		{v1.RunAlways, v1.VirtualMachineStatus{Hold: hold}, false},
		{v1.RunRerunOnFailure, v1.VirtualMachineStatus{}, true},
		{v1.RunRerunOnFailure, v1.VirtualMachineStatus{Hold: hold}, false},
		{v1.RunRerunOnFailure, v1.VirtualMachineStatus{Finished: done}, false},
		{v1.RunManual, v1.VirtualMachineStatus{}, false},
		{v1.RunManual, v1.VirtualMachineStatus{Run: run}, true},
		{v1.RunManual, v1.VirtualMachineStatus{Hold: hold, Run: run}, false},
		{v1.RunOnce, v1.VirtualMachineStatus{Run: run}, true},
		{v1.RunOnce, v1.VirtualMachineStatus{Finished: done}, false},
		{v1.RunHalted, v1.VirtualMachineStatus{Run: run}, false},
	} {
		if got := WantsOn(c.strategy, &c.status); got != c.want {
			t.Errorf("%s, %+v: %v", c.strategy, c.status, got)
		}
	}
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		strategy             v1.RunStrategy
		clean, crash, failed bool // after the guest's shutdown, a crash, a failed start
	}{
		{v1.RunAlways, true, true, true},
		{v1.RunRerunOnFailure, false, true, true},
		{v1.RunManual, false, false, false},
		{v1.RunOnce, false, false, true},
		{v1.RunHalted, false, false, false},
	} {
		got := [3]bool{Retries(c.strategy, v1.PhaseSucceeded, EndGuestShutdown), Retries(c.strategy, v1.PhaseFailed, EndCrashed),
			Retries(c.strategy, v1.PhaseFailed, EndStartFailed)}
		if want := [3]bool{c.clean, c.crash, c.failed}; got != want {
			t.Errorf("%s: %v, want %v", c.strategy, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	inactive := func(why string) *hypervisor.Domain {
		return &hypervisor.Domain{State: hypervisor.DomainInactive, Why: why}
	}
	stop := &v1.StopRequest{Reason: v1.StopReasonStop}
	for _, c := range []struct {
		name     string
		stop     *v1.StopRequest
		domain   *hypervisor.Domain
		ended    string
		rebooted bool
		phase    v1.Phase
		reason   string
	}{
		{"what was asked for comes first", stop, inactive("crashed"), "", false, v1.PhaseSucceeded, EndAsRequested},
		{"guest's own shutdown", nil, inactive("shutdown"), "shutdown-guest", false, v1.PhaseSucceeded, EndGuestShutdown},
		{"shutdown while nobody listened", nil, inactive("shutdown"), "", false, v1.PhaseSucceeded, EndGuestShutdown},
		{"SIGTERM to QEMU", nil, inactive("shutdown"), "shutdown-host", false, v1.PhaseFailed, EndHostDown},
		{"crash", nil, inactive("crashed"), "", false, v1.PhaseFailed, EndCrashed},
		{"failed start", nil, inactive("failed"), "", false, v1.PhaseFailed, EndStartFailed},
		{"virsh destroy", nil, inactive("destroyed"), "", false, v1.PhaseSucceeded, EndedByOutsider},
		{"virsh save", nil, inactive("saved"), "", false, v1.PhaseSucceeded, EndedByOutsider},
		{"host was rebooted", nil, inactive("unknown"), "", true, v1.PhaseFailed, EndHostDown},
		{"stopped, and the host was rebooted", stop, inactive("unknown"), "", true, v1.PhaseSucceeded, EndAsRequested},
		{"host has forgotten", nil, inactive("unknown"), "", false, v1.PhaseFailed, EndUnknown},
		{"gone", nil, nil, "", false, v1.PhaseFailed, EndUnknown},
	} {
		phase, reason, message := Judge(&v1.Instance{Stop: c.stop}, c.domain, c.ended, c.rebooted)
		if phase != c.phase || reason != c.reason || message == "" {
			t.Errorf("%s: %s %s %q, want %s %s and a sentence", c.name, phase, reason, message, c.phase, c.reason)
		}
	}
}

func TestDelayGrowsToItsCap(t *testing.T) {
	p := PolicyOf(v1.CrashLoopPolicy{})
	for n, want := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute, 1000: 5 * time.Minute} {
		got := p.Delay("uid", n)
		if got < want*8/10 || got > want*12/10 {
			t.Errorf("failure %d: %s, want %s ± 20 %%", n, got, want)
		}
	}
}

func TestDelayIsTheSameEachTimeAndSpreads(t *testing.T) {
	p := PolicyOf(v1.CrashLoopPolicy{})
	if first, again := p.Delay("a", 3), p.Delay("a", 3); first != again {
		t.Errorf("the same failure of the same VM waits %s, then %s", first, again)
	}
	if p.Delay("a", 3) == p.Delay("b", 3) {
		t.Error("two VMs that failed together come back together")
	}
	rapid.Check(t, func(t *rapid.T) {
		d := p.Delay(rapid.String().Draw(t, "uid"), rapid.IntRange(1, 100).Draw(t, "n"))
		if d < 8*time.Second || d > 6*time.Minute {
			t.Fatalf("%s is out of bounds", d)
		}
	})
}

func TestCounts(t *testing.T) {
	p := PolicyOf(v1.CrashLoopPolicy{})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ran  time.Duration // before the end; zero: never
		want bool
	}{{0, true}, {time.Second, true}, {59 * time.Second, true}, {time.Minute, false}, {time.Hour, false}} {
		in := &v1.Instance{}
		if c.ran > 0 {
			in.RunningAt = at.Add(-c.ran)
		}
		if got := p.Counts(in, at); got != c.want {
			t.Errorf("ran for %s: %v", c.ran, got)
		}
	}
}
