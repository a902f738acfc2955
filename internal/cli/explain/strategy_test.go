package explain

import (
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func rerun(change func(*v1.VirtualMachine)) *v1.VirtualMachine {
	return with(v1.RunRerunOnFailure, change)
}

func once(change func(*v1.VirtualMachine)) *v1.VirtualMachine { return with(v1.RunOnce, change) }

func with(strategy v1.RunStrategy, change func(*v1.VirtualMachine)) *v1.VirtualMachine {
	return web(func(vm *v1.VirtualMachine) {
		vm.Spec.RunStrategy = strategy
		change(vm)
	})
}

// TestVMByStrategy has what the run strategies say beside TestVM's.
func TestVMByStrategy(t *testing.T) {
	for _, c := range []explained{
		{"running, RerunOnFailure", rerun(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseRunning) }), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is RerunOnFailure.",
			`It stays on until the guest shuts itself down or somebody stops it: "holdfast stop web". After a failure a new instance follows.`}},
		{"RerunOnFailure, runs again after a crash", rerun(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.CrashLoop = on(v1.PhaseRunning), &v1.CrashLoop{ConsecutiveFailures: 1, LastFailure: crashed}
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is RerunOnFailure. It runs again after 1 failure; the last was 30s ago (19:59:30): the guest panicked.",
			`It stays on until the guest shuts itself down or somebody stops it: "holdfast stop web". After a failure a new instance follows.`}},
		{"RerunOnFailure, backing off after a crash", rerun(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "waits", Since: ago(30 * time.Second)}
			vm.Status.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 2, LastFailure: crashed, RetryAt: now.Add(10 * time.Second)}
		}), fleet, Answer{
			"Backing off after 2 failures in a row.",
			"The last one was 30s ago (19:59:30) on lab-2: the guest panicked.",
			`It is tried again in 10s (20:00:10). "holdfast start web" tries at once, and "holdfast stop web" gives up.`}},
		{"RerunOnFailure, the guest shut itself down", rerun(func(vm *v1.VirtualMachine) {
			vm.Status.Finished, vm.Status.History = &v1.Finished{Reason: "GuestShutdown"}, []v1.End{shutDown}
		}), fleet, Answer{
			"Stopped.",
			"Its last instance ended 26m ago (19:34:00) on lab-1: the guest shut itself down. " +
				"Its run strategy is RerunOnFailure: a new instance follows a failure, and this was none.",
			`It stays off until somebody starts it: "holdfast start web".`}},
		{"RerunOnFailure, held after the guest shut itself down", rerun(func(vm *v1.VirtualMachine) {
			vm.Status.Finished, vm.Status.History = &v1.Finished{Reason: "GuestShutdown"}, []v1.End{shutDown}
			vm.Status.Hold = &v1.Hold{By: "alice", At: ago(time.Minute)}
		}), fleet, Answer{
			"Stopped.",
			"It was stopped by alice 1m ago (19:59:00), and the hold that this put on it keeps it off, whatever its run strategy (RerunOnFailure). " +
				"Its last instance ended 26m ago (19:34:00) on lab-1: the guest shut itself down.",
			`It stays off until somebody starts it: "holdfast start web" lifts the hold.`}},
		{"RerunOnFailure, nothing decided", rerun(func(vm *v1.VirtualMachine) {}), fleet, Answer{
			"Stopped, but wanted on.",
			"Its run strategy is RerunOnFailure, and it has no instance yet.",
			"The control plane decides on it the next time it looks, usually at once."}},
		{"Once, waits for its run", once(func(vm *v1.VirtualMachine) {
			vm.Status.Run = &v1.Run{At: ago(time.Minute)}
			vm.Status.Waiting = &v1.Waiting{Reason: "StartLimit", Message: "4 instances are starting", Since: ago(20 * time.Second)}
		}), fleet, Answer{
			"Waiting in the start queue since 20s ago (19:59:40).",
			"4 instances are starting.",
			`It starts as soon as one of the starts under way is over. "holdfast stop web" takes it out. ` +
				"Its run strategy is Once: the first start that works is its one run."}},
		{"Once, launching", once(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseLaunching)
			vm.Status.Instance.StartDeadline = now.Add(90 * time.Second)
		}), fleet, Answer{
			"Launching on lab-1 since 5m ago (19:55:00).",
			"The host has been told to start it and does not report it as running yet.",
			"It is Running as soon as the host says so. If the host has not said so by 20:01:30, in 1m30s, the launch has failed, and another follows " +
				"after a delay. Its run strategy is Once: the first start that works is its one run."}},
		{"Once, a start failed", once(func(vm *v1.VirtualMachine) {
			vm.Status.Run = &v1.Run{At: ago(time.Minute)}
			vm.Status.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "waits", Since: ago(30 * time.Second)}
			vm.Status.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 1, RetryAt: now.Add(10 * time.Second),
				LastFailure: v1.End{Host: "lab-2", Reason: "StartFailed", Message: "no such file", EndedAt: ago(30 * time.Second)}}
		}), fleet, Answer{
			"Backing off after 1 failure.",
			"The last one was 30s ago (19:59:30) on lab-2: no such file.",
			`It is tried again in 10s (20:00:10). "holdfast start web" tries at once, and "holdfast stop web" gives up. ` +
				"Its run strategy is Once: the first start that works is its one run."}},
		{"Once, held before its run", once(func(vm *v1.VirtualMachine) { vm.Status.Hold = &v1.Hold{By: "alice", At: ago(time.Minute)} }), fleet, Answer{
			"Stopped.",
			"It was stopped by alice 1m ago (19:59:00), and the hold that this put on it keeps it off, whatever its run strategy (Once).",
			`It stays off until somebody starts it: "holdfast start web" lifts the hold.`}},
		{"Once, running", once(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.Run, vm.Status.Conditions = on(v1.PhaseRunning), &v1.Run{At: ago(6 * time.Minute)}, restartRequired
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Once, and this is its one run.",
			`It stays on until the guest ends, however it does, or somebody stops it: "holdfast stop web". Then it is over, and not started again. ` +
				"The machine in its manifest has changed since it started, which changes nothing any more: no other instance follows."}},
		{"Once, being stopped", once(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.Hold = on(v1.PhaseRunning), &v1.Hold{}
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, By: "alice", At: ago(10 * time.Second), Deadline: now.Add(time.Minute)}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"A stop was asked for by alice 10s ago (19:59:50).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m (20:01:00); "holdfast stop web --force" does it now. ` +
				"Then it is over: its run strategy is Once, and this was its one run."}},
		{"Once, over", once(func(vm *v1.VirtualMachine) {
			vm.Status.Finished, vm.Status.History = &v1.Finished{Reason: "Crashed"}, []v1.End{crashed}
		}), fleet, Answer{
			"Stopped: it has had its one run.",
			"Its last instance ended 30s ago (19:59:30) on lab-2: the guest panicked. Its run strategy is Once.",
			`It stays off, and a start is refused, until its run strategy is another: "holdfast start web --run-strategy Manual" runs it again.`}},
		{"Once, over by a stop", once(func(vm *v1.VirtualMachine) {
			vm.Status.Finished, vm.Status.Hold = &v1.Finished{Reason: "AsRequested"}, &v1.Hold{By: "alice", At: ago(time.Minute)}
			vm.Status.History = []v1.End{{Host: "lab-1", Reason: "AsRequested", Message: "stopped, asked for by alice", EndedAt: ago(time.Minute)}}
		}), fleet, Answer{
			"Stopped: it has had its one run.",
			"Its last instance ended 1m ago (19:59:00) on lab-1: stopped, asked for by alice. Its run strategy is Once.",
			`It stays off, and a start is refused, until its run strategy is another: "holdfast start web --run-strategy Manual" runs it again.`}},
		{"Once, changed to that while off", once(func(vm *v1.VirtualMachine) { vm.Status.History = []v1.End{shutDown} }), fleet, Answer{
			"Stopped.",
			"Its last instance ended 26m ago (19:34:00) on lab-1: the guest shut itself down. " +
				"Its run strategy was changed to Once while it was off, and nobody has started it since.",
			`It stays off until somebody starts it: "holdfast start web".`}},
		{"Manual, wanted on", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy, vm.Status.Run = v1.RunManual, &v1.Run{By: "alice", At: ago(time.Second)}
		}), fleet, Answer{
			"Stopped, but wanted on.",
			"Its run strategy is Manual, and it has no instance yet.",
			"The control plane decides on it the next time it looks, usually at once."}},
		{"Manual, launching with a deadline", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy, vm.Status.Instance = v1.RunManual, on(v1.PhaseLaunching)
			vm.Status.Instance.StartDeadline = now.Add(90 * time.Second)
		}), fleet, Answer{
			"Launching on lab-1 since 5m ago (19:55:00).",
			"The host has been told to start it and does not report it as running yet.",
			"It is Running as soon as the host says so. If the host has not said so by 20:01:30, in 1m30s, the launch has failed, and it stays off, " +
				"because its run strategy is Manual."}},
		{"Manual, abandoned launch", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy, vm.Status.Instance = v1.RunManual, on(v1.PhaseLaunching)
			vm.Status.Instance.Abandon = &v1.End{Reason: "StartFailed", Message: "no such file"}
		}), fleet, Answer{
			"The launch on lab-1 failed and is being cleaned up.",
			"No such file.",
			"As soon as it is certain that nothing of it runs there, it is Stopped: its run strategy is Manual, and a start that fails is not repeated."}},
		{"abandoned launch, held", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.Hold = on(v1.PhaseLaunching), &v1.Hold{}
			vm.Status.Instance.Abandon, vm.Status.Instance.Stop = &v1.End{Message: "no such file"}, &v1.StopRequest{Reason: v1.StopReasonStop}
		}), fleet, Answer{
			"The launch on lab-1 failed and is being cleaned up.",
			"No such file.",
			"As soon as it is certain that nothing of it runs there, it is Stopped."}},
		{"abandoned launch, restarted", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseLaunching)
			vm.Status.Instance.Abandon, vm.Status.Instance.Stop = &v1.End{Message: "no such file"}, &v1.StopRequest{Reason: v1.StopReasonRestart}
		}), fleet, Answer{
			"The launch on lab-1 failed and is being cleaned up.",
			"No such file.",
			"As soon as it is certain that nothing of it runs there, a new instance starts."}},
		{"an end whose launch was never answered", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Abandon = &v1.End{Reason: "Crashed", Message: "the guest crashed"}
		}), fleet, Answer{
			"Ended on lab-1, and being cleaned up.",
			"The guest crashed.",
			"As soon as it is certain that nothing of it runs there, its run strategy decides what follows."}},
		{"stopping, and started again", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, By: "alice", At: ago(10 * time.Second), Deadline: now.Add(time.Minute)}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"A stop was asked for by alice 10s ago (19:59:50).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m (20:01:00); "holdfast stop web --force" does it now. ` +
				"Then a new instance starts: it was started again since."}},
		{"Halted is not taken up yet", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy, vm.Status.Instance = v1.RunHalted, on(v1.PhaseRunning)
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Halted.",
			"The guest is asked to shut itself down as soon as the control plane has taken that up, usually at once."}},
	} {
		t.Run(c.name, c.test)
	}
}
