package explain

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

var now = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)

// ago is a moment in the past.
func ago(d time.Duration) time.Time { return now.Add(-d) }

// web is the VM that the situations are about, changed as each one needs.
func web(change func(*v1.VirtualMachine)) *v1.VirtualMachine {
	vm := &v1.VirtualMachine{
		Metadata: v1.ObjectMeta{Name: "web", Namespace: "default", UID: "4b6a0000-0000-4000-8000-000000000001", Generation: 1,
			CreationTimestamp: ago(time.Hour)},
		Spec:   v1.VirtualMachineSpec{RunStrategy: v1.RunAlways},
		Status: v1.VirtualMachineStatus{ObservedGeneration: 1},
	}
	change(vm)
	return vm
}

func on(phase v1.Phase) *v1.Instance {
	i := &v1.Instance{ID: "i1", Phase: phase, Host: "lab-1", Generation: 1, CreatedAt: ago(5 * time.Minute)}
	if phase == v1.PhaseRunning {
		i.RunningAt = ago(4 * time.Minute)
	}
	return i
}

var (
	up    = &v1.Host{Status: v1.HostStatus{State: v1.HostUp}}
	lost  = &v1.Host{Status: v1.HostStatus{State: v1.HostUnreachable, Since: ago(2 * time.Minute), Message: "dial tcp 10.0.0.1:16509: no route to host"}}
	fleet = Hosts{"lab-1": up, "lab-2": up}
	dark  = Hosts{"lab-1": lost, "lab-2": up}

	crashed         = v1.End{Instance: "i5", Host: "lab-2", Phase: v1.PhaseFailed, Reason: "Crashed", Message: "the guest panicked", EndedAt: ago(30 * time.Second)}
	restartRequired = []v1.Condition{{Type: "RestartRequired", Status: v1.ConditionTrue, Message: "spec.template (memory) has changed"}}
	shutDown        = v1.End{Host: "lab-1", Phase: v1.PhaseSucceeded, Reason: "GuestShutdown", Message: "the guest shut itself down", EndedAt: ago(26 * time.Minute)}
)

// explained is a situation, and what is to be said about it.
type explained struct {
	name  string
	vm    *v1.VirtualMachine
	hosts Hosts
	want  Answer
}

func (c explained) test(t *testing.T) {
	got := VM(c.vm, View{Hosts: c.hosts, Now: now})
	for _, x := range []struct{ field, got, want string }{
		{"State", got.State, c.want.State}, {"Why", got.Why, c.want.Why}, {"Next", got.Next, c.want.Next},
	} {
		if x.got != x.want {
			t.Errorf("%s\n got %s\nwant %s", x.field, x.got, x.want)
		}
	}
}

func TestVM(t *testing.T) {
	for _, c := range []explained{
		{"running", web(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseRunning) }), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Always.",
			"It stays on. When the instance ends, however it does, a new one follows."}},
		{"running, Manual", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy = v1.RunManual
			vm.Status.Instance, vm.Status.Run = on(v1.PhaseRunning), &v1.Run{By: "alice", At: ago(6 * time.Minute)}
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Manual, and it was started by alice 6m ago (19:54:00).",
			`It stays on until the guest shuts itself down or somebody stops it: "holdfast stop web".`}},
		{"running after failures", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.CrashLoop = on(v1.PhaseRunning), &v1.CrashLoop{ConsecutiveFailures: 1, LastFailure: crashed}
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Always. It runs again after 1 failure; the last was 30s ago (19:59:30): the guest panicked.",
			"It stays on. When the instance ends, however it does, a new one follows."}},
		{"running an older template", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.Conditions = on(v1.PhaseRunning), restartRequired
		}), fleet, Answer{
			"Running on lab-1 since 4m ago (19:56:00).",
			"Its run strategy is Always.",
			`It stays on. When the instance ends, however it does, a new one follows. The machine in its manifest has ` +
				`changed since it started; that applies to the next instance ("holdfast restart web").`}},
		{"stopped by a hold", web(func(vm *v1.VirtualMachine) {
			vm.Metadata.Namespace = "prod"
			vm.Status.Hold = &v1.Hold{By: "alice", At: ago(2*time.Hour + time.Minute)}
			vm.Status.History = []v1.End{{Host: "lab-2", Phase: v1.PhaseSucceeded, Reason: "AsRequested", Message: "the guest shut down as asked", EndedAt: ago(2 * time.Hour)}}
		}), fleet, Answer{
			"Stopped.",
			"It was stopped by alice 2h1m ago (17:59:00), and the hold that this put on it keeps it off, whatever its run strategy (Always). " +
				"Its last instance ended 2h ago (18:00:00) on lab-2: the guest shut down as asked.",
			`It stays off until somebody starts it: "holdfast start web -n prod" lifts the hold.`}},
		{"halted", web(func(vm *v1.VirtualMachine) { vm.Spec.RunStrategy = v1.RunHalted }), fleet, Answer{
			"Stopped.",
			"Its run strategy is Halted.",
			`It stays off, and a start is refused, until its run strategy is another: "holdfast start web --run-strategy Always" sets it and starts.`}},
		{"halted the older way", web(func(vm *v1.VirtualMachine) {
			off := false
			vm.Spec.RunStrategy, vm.Spec.Running = "", &off
		}), fleet, Answer{
			"Stopped.",
			"Its run strategy is Halted.",
			`It stays off, and a start is refused, until its run strategy is another: "holdfast start web --run-strategy Always" sets it and starts.`}},
		{"manual, never started", web(func(vm *v1.VirtualMachine) { vm.Spec.RunStrategy = v1.RunManual }), fleet, Answer{
			"Stopped.",
			"Its run strategy is Manual, and nobody has started it yet.",
			`It stays off until somebody starts it: "holdfast start web".`}},
		{"manual, the guest shut itself down", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy = v1.RunManual
			vm.Status.History = []v1.End{{Host: "lab-1", Phase: v1.PhaseSucceeded, Reason: "GuestShutdown", Message: "the guest shut itself down", EndedAt: ago(26 * time.Hour)}}
		}), fleet, Answer{
			"Stopped.",
			"Its last instance ended 1d2h ago (2026-11-29 18:00:00) on lab-1: the guest shut itself down. " +
				"Its run strategy is Manual: each start is for one run, and that run is over.",
			`It stays off until somebody starts it: "holdfast start web".`}},
		{"wanted on, nothing decided", web(func(vm *v1.VirtualMachine) {}), fleet, Answer{
			"Stopped, but wanted on.",
			"Its run strategy is Always, and it has no instance yet.",
			"The control plane decides on it the next time it looks, usually at once."}},
		{"not looked at yet", web(func(vm *v1.VirtualMachine) {
			vm.Status = v1.VirtualMachineStatus{}
			vm.Metadata.CreationTimestamp = ago(40 * time.Second)
		}), fleet, Answer{
			"Accepted, not looked at yet.",
			"It was created 40s ago (19:59:20), and no control plane has decided about it since.",
			"The control plane decides on it the next time it looks, usually at once."}},
		{"in the start queue", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "StartLimit", Message: "4 instances are starting on each host that can take it, and 4 is the limit", Since: ago(20 * time.Second)}
		}), fleet, Answer{
			"Waiting in the start queue since 20s ago (19:59:40).",
			"4 instances are starting on each host that can take it, and 4 is the limit.",
			`It starts as soon as one of the starts under way is over. "holdfast stop web" takes it out.`}},
		{"unschedulable", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "Unschedulable", Message: "0 of 5 hosts can take it: 3 have too little memory, 2 are cordoned", Since: ago(11 * time.Minute)}
		}), fleet, Answer{
			"Unschedulable since 11m ago (19:49:00): no host can take it.",
			"0 of 5 hosts can take it: 3 have too little memory, 2 are cordoned.",
			`It is tried again the moment a host is added, uncordoned, answers again or has room. "holdfast get hosts" shows which are there.`}},
		{"no hosts", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "Unschedulable", Message: "there are no hosts; add one with: holdfast host add NAME URI", Since: ago(11 * time.Minute)}
		}), Hosts{}, Answer{
			"Unschedulable since 11m ago (19:49:00): no host can take it.",
			"There are no hosts; add one with: holdfast host add NAME URI.",
			"It starts as soon as there is one that can take it."}},
		{"crash-loop back-off", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "waits", Since: ago(30 * time.Second)}
			vm.Status.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 5, LastFailure: crashed, RetryAt: now.Add(2*time.Minute + 10*time.Second)}
		}), fleet, Answer{
			"Backing off after 5 failures in a row.",
			"The last one was 30s ago (19:59:30) on lab-2: the guest panicked.",
			`It is tried again in 2m10s (20:02:10). "holdfast start web" tries at once, and "holdfast stop web" gives up.`}},
		{"crash-loop back-off, due", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "waits", Since: ago(30 * time.Second)}
			vm.Status.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 1, LastFailure: crashed, RetryAt: ago(time.Second)}
		}), fleet, Answer{
			"Backing off after 1 failure.",
			"The last one was 30s ago (19:59:30) on lab-2: the guest panicked.",
			`It is tried again now (due since 19:59:59). "holdfast start web" tries at once, and "holdfast stop web" gives up.`}},
		{"waiting for a lost host", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "HostUnreachable", Message: "host lab-1 may still run its last instance", Since: ago(time.Minute)}
		}), dark, Answer{
			"Waiting (HostUnreachable) since 1m ago (19:59:00).",
			"Host lab-1 may still run its last instance.",
			`It starts as soon as that has passed. "holdfast stop web" takes it out.`}},
		{"waiting for something new", web(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "StartAfter", Message: "db comes first", Since: ago(time.Second)}
		}), fleet, Answer{
			"Waiting (StartAfter) since 1s ago (19:59:59).",
			"Db comes first.",
			`It starts as soon as that has passed. "holdfast stop web" takes it out.`}},
		{"scheduled", web(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseScheduled) }), fleet, Answer{
			"Scheduled: lab-1 has promised it room 5m ago (19:55:00).",
			"The launch waits for something on that host.",
			"The host is told to start it as soon as it can be, usually within seconds."}},
		{"launching", web(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseLaunching) }), fleet, Answer{
			"Launching on lab-1 since 5m ago (19:55:00).",
			"The host has been told to start it and does not report it as running yet.",
			"It is Running as soon as the host says so."}},
		{"launching with a deadline", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseLaunching)
			vm.Status.Instance.StartDeadline = now.Add(90 * time.Second)
		}), fleet, Answer{
			"Launching on lab-1 since 5m ago (19:55:00).",
			"The host has been told to start it and does not report it as running yet.",
			"It is Running as soon as the host says so. If the host has not said so by 20:01:30, in 1m30s, the launch has failed, and another follows after a delay."}},
		{"abandoned launch", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseLaunching)
			vm.Status.Instance.Abandon = &v1.End{Reason: "StartTimeout", Message: "the host did not report it as running within 5m"}
		}), fleet, Answer{
			"The launch on lab-1 failed and is being cleaned up.",
			"The host did not report it as running within 5m.",
			"As soon as it is certain that nothing of it runs there, the failure counts and the next try is planned."}},
		{"host out of reach", web(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseRunning) }), dark, Answer{
			"Unknown: it was running on lab-1, which is out of reach.",
			"Host lab-1 has not answered since 2m ago (19:58:00): dial tcp 10.0.0.1:16509: no route to host.",
			"As soon as the host answers it is looked at, and what still runs is left running. " +
				"Until then nothing of it starts elsewhere, so that it never runs twice. " +
				`If the host is down, and you know it: "holdfast host confirm-down lab-1".`}},
		{"host out of reach, stop recorded", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, By: "bob", At: ago(time.Minute), Force: true}
		}), dark, Answer{
			"Unknown: it was running on lab-1, which is out of reach.",
			"Host lab-1 has not answered since 2m ago (19:58:00): dial tcp 10.0.0.1:16509: no route to host.",
			"The forced stop asked for by bob 1m ago (19:59:00) is recorded and carried out as soon as the host answers. " +
				"Until then nothing of it starts elsewhere, so that it never runs twice. " +
				`If the host is down, and you know it: "holdfast host confirm-down lab-1".`}},
		{"stopping", web(func(vm *v1.VirtualMachine) {
			vm.Status.Hold = &v1.Hold{}
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, By: "alice", At: ago(10 * time.Second), Deadline: now.Add(110 * time.Second)}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"A stop was asked for by alice 10s ago (19:59:50).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m50s (20:01:50); "holdfast stop web --force" does it now.`}},
		{"stopping by force", web(func(vm *v1.VirtualMachine) {
			vm.Status.Hold = &v1.Hold{}
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, At: ago(time.Second), Deadline: ago(time.Second), Force: true}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"A forced stop was asked for 1s ago (19:59:59).",
			"It is being switched off now, without asking the guest."}},
		{"stopping a launch", web(func(vm *v1.VirtualMachine) {
			vm.Status.Hold = &v1.Hold{}
			vm.Status.Instance = on(v1.PhaseLaunching)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonStop, At: ago(time.Second), Deadline: now.Add(time.Minute)}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"A stop was asked for 1s ago (19:59:59).",
			"It has not run yet: it is removed from the host as soon as what the host does with it is known."}},
		{"halting", web(func(vm *v1.VirtualMachine) {
			vm.Spec.RunStrategy = v1.RunHalted
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonHalted, At: ago(time.Second), Deadline: now.Add(time.Minute)}
		}), fleet, Answer{
			"Stopping on lab-1.",
			"Its run strategy was changed to Halted 1s ago (19:59:59).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m (20:01:00); "holdfast stop web --force" does it now.`}},
		{"restarting", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonRestart, By: "alice", At: ago(10 * time.Second), Deadline: now.Add(110 * time.Second)}
		}), fleet, Answer{
			"Restarting: its instance on lab-1 is being stopped.",
			"A restart was asked for by alice 10s ago (19:59:50).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m50s (20:01:50); ` +
				`"holdfast restart web --force" does it now. Then a new instance starts, placed anew.`}},
		{"terminating", deleted(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Stop = &v1.StopRequest{Reason: v1.StopReasonDelete, At: ago(10 * time.Second), Deadline: now.Add(110 * time.Second)}
		}), fleet, Answer{
			"Terminating.",
			"Its deletion was asked for 10s ago (19:59:50).",
			`The guest has been asked to shut itself down. If it has not done so, it is switched off in 1m50s (20:01:50); ` +
				`"holdfast delete vm web --force" does it now. Then it is removed. Its disks are not touched.`}},
		{"terminating, host out of reach", deleted(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseRunning) }), dark, Answer{
			"Terminating.",
			"Its deletion was asked for 10s ago (19:59:50). It runs or ran on lab-1. Host lab-1 has not answered since 2m ago (19:58:00): dial tcp 10.0.0.1:16509: no route to host.",
			"It is stopped and removed as soon as that host answers. Its disks are not touched."}},
		{"terminating, leftovers out of reach", deleted(func(vm *v1.VirtualMachine) { vm.Status.Leftovers = []string{"lab-1", "lab-2"} }), dark, Answer{
			"Terminating.",
			"Its deletion was asked for 10s ago (19:59:50). A definition of it may remain on lab-1 (out of reach) and lab-2.",
			"It is removed as soon as every one of them has been looked at and cleaned. Its disks are not touched."}},
		{"terminating, quarantined", deleted(func(vm *v1.VirtualMachine) {
			vm.Status.Waiting = &v1.Waiting{Reason: "Quarantined", Message: "an instance that Holdfast does not know runs on lab-2; end it there (virsh destroy), and the VM is removed"}
		}), fleet, Answer{
			"Terminating.",
			"Its deletion was asked for 10s ago (19:59:50). An instance that Holdfast does not know runs on lab-2; end it there (virsh destroy), and the VM is removed.",
			"It is gone as soon as that has passed. Its disks are not touched."}},
		{"host deleted", web(func(vm *v1.VirtualMachine) { vm.Status.Instance = on(v1.PhaseLaunching) }), Hosts{}, Answer{
			"Unknown: it was launching on lab-1, which is out of reach.",
			"Host lab-1 is none of the hosts any more: it was deleted.",
			"As soon as the host answers it is looked at, and what still runs is left running. " +
				"Until then nothing of it starts elsewhere, so that it never runs twice."}},
		{"terminating, nothing left", deleted(func(vm *v1.VirtualMachine) {}), fleet, Answer{
			"Terminating.",
			"Its deletion was asked for 10s ago (19:59:50).",
			"Nothing of it is left on any host: it is gone the next time the control plane looks. Its disks are not touched."}},
		{"paused by an I/O error", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Paused = "ioerror"
		}), fleet, Answer{
			"Paused on lab-1: the guest's CPUs stand still.",
			"A disk gave an I/O error or has no space left, and QEMU paused the guest so that it loses nothing.",
			`It stays paused: Holdfast neither resumes nor kills it. Repair the storage, then "virsh resume 4b6a0000-0000-4000-8000-000000000001" on lab-1. ` +
				`"holdfast stop web --force" switches it off.`}},
		{"paused by somebody", web(func(vm *v1.VirtualMachine) {
			vm.Status.Instance = on(v1.PhaseRunning)
			vm.Status.Instance.Paused = "user"
		}), fleet, Answer{
			"Paused on lab-1: the guest's CPUs stand still.",
			"Somebody paused it on the host, outside Holdfast.",
			`It stays paused until somebody resumes it: "virsh resume 4b6a0000-0000-4000-8000-000000000001" on lab-1. ` +
				`"holdfast stop web --force" switches it off.`}},
		{"quarantined", web(func(vm *v1.VirtualMachine) { vm.Status.PrintableStatus = v1.PrintableQuarantined }), fleet, Answer{
			"Quarantined: nothing of it is started or stopped.",
			"A host runs an instance of it that the store does not know, as happens after a restore from a backup.",
			"A person has to decide: look at what runs on the host, and switch off what must not."}},
	} {
		t.Run(c.name, c.test)
	}
}

func TestVMWithoutLeader(t *testing.T) {
	vm := web(func(vm *v1.VirtualMachine) { vm.Status = v1.VirtualMachineStatus{} })
	got := VM(vm, View{Leaderless: true, Now: now}).Next
	want := "No control plane leads at the moment, and nothing is decided until one does; the server's log says why. " +
		"Then: The control plane decides on it the next time it looks, usually at once."
	if got != want {
		t.Errorf("Next\n got %s\nwant %s", got, want)
	}
}

func deleted(change func(*v1.VirtualMachine)) *v1.VirtualMachine {
	return web(func(vm *v1.VirtualMachine) {
		at := ago(10 * time.Second)
		vm.Metadata.DeletionTimestamp = &at
		change(vm)
	})
}

// Whatever the status says, however odd, all three questions are answered.
func FuzzVM(f *testing.F) {
	f.Add("Running", "Running", "", "", "", false, true, false, int64(1))
	f.Add("", "", "Nonsense", "", "ioerror", true, false, true, int64(0))
	f.Fuzz(func(t *testing.T, printable, phase, reason, message, paused string, stop, haveInstance, gone bool, seen int64) {
		vm := web(func(vm *v1.VirtualMachine) {
			vm.Status = v1.VirtualMachineStatus{ObservedGeneration: seen, PrintableStatus: printable}
			if haveInstance {
				vm.Status.Instance = &v1.Instance{Phase: v1.Phase(phase), Host: "lab-1", Paused: paused}
				if stop {
					vm.Status.Instance.Stop = &v1.StopRequest{Reason: reason}
				}
			} else if reason != "" {
				vm.Status.Waiting = &v1.Waiting{Reason: reason, Message: message}
			}
			if gone {
				at := ago(time.Second)
				vm.Metadata.DeletionTimestamp = &at
			}
		})
		for _, hosts := range []Hosts{nil, {}, fleet, dark} {
			a := VM(vm, View{Hosts: hosts, Now: now})
			for _, s := range []string{a.State, a.Why, a.Next} {
				if strings.TrimSpace(s) == "" {
					t.Errorf("an empty answer in %+v", a)
				}
			}
		}
	})
}
