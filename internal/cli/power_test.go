package cli

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

var applied = v1.ActionStatus{Phase: v1.ActionApplied, Reason: "Done", Message: "the hold is lifted; it starts", At: noon}

// started is a command that runs while the test plays the control plane.
type started struct {
	out, err lockedBuffer
	code     chan int
}

func (w *world) begin(line ...string) *started {
	s := &started{code: make(chan int, 1)}
	s.err.fed = make(chan struct{}, 1)
	go func() { s.code <- Run(w.t.Context(), w.env("", &s.out, &s.err), line) }()
	return s
}

func (s *started) expect(t *testing.T, code int, out, errOut string) {
	t.Helper()
	if c := <-s.code; c != code || s.out.String() != out || s.err.String() != errOut {
		t.Errorf("got %d\n%s%swant %d\n%s%s", c, s.out.String(), s.err.String(), code, out, errOut)
	}
}

func TestStartSaysWhatItDid(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	s := w.begin("start", "web")
	a := w.answer(applied)
	if a.Spec.Type != v1.ActionStart || a.Spec.VM != "web" || a.Spec.Force {
		t.Errorf("posted %+v", a.Spec)
	}
	s.expect(t, ExitOK, "vm/web: the hold is lifted; it starts\n", "")
}

func TestStopByForceUnderAName(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	s := w.begin("stop", "vm/web", "--force", "--request-id", "job-17")
	if a := w.answer(applied); a.Spec.Type != v1.ActionStop || !a.Spec.Force || a.Metadata.Name != "job-17" {
		t.Errorf("posted %+v", a)
	}
	s.expect(t, ExitOK, "vm/web: the hold is lifted; it starts\n", "")
	if n := len(w.actions()); n != 1 {
		t.Errorf("%d actions", n)
	}
	w.ok("stop", "web", "--force", "--request-id", "job-17")
	if n := len(w.actions()); n != 1 {
		t.Errorf("sent again under the same name, it makes %d actions", n)
	}
}

func (w *world) actions() []v1.Action {
	w.t.Helper()
	list, err := w.client.ListActions(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

func TestStartRefused(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunHalted)
	s := w.begin("start", "web")
	w.answer(v1.ActionStatus{Phase: v1.ActionRefused, Reason: "Halted", Message: "its run strategy is Halted", At: noon})
	s.expect(t, ExitRefused, "", "Error: vm/web: the start was refused: its run strategy is Halted; \"holdfast start web --run-strategy Always\" does both\n")
}

func TestStartOfAOnceVMThatHasRunRefused(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunOnce)
	s := w.begin("start", "web")
	w.answer(v1.ActionStatus{Phase: v1.ActionRefused, Reason: "Over", Message: "its run strategy is Once and it has run", At: noon})
	s.expect(t, ExitRefused, "", "Error: vm/web: the start was refused: its run strategy is Once and it has run; \"holdfast start web --run-strategy Manual\" does both\n")
}

func TestStartUnderAnotherStrategy(t *testing.T) {
	w := newWorld(t)
	w.apply("apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: web, labels: {app: web}}\nspec: {running: false, template: {memory: 512Mi}}\n")
	s := w.begin("start", "web", "--run-strategy", "Manual")
	w.answer(v1.ActionStatus{Phase: v1.ActionApplied, Message: "it starts", At: noon})
	s.expect(t, ExitOK, "vm/web: it starts; its run strategy is Manual now\n", "")
	vm, err := w.client.GetVM(t.Context(), "", "web")
	if err != nil || vm.Spec.EffectiveRunStrategy() != v1.RunManual || vm.Spec.Running != nil || vm.Metadata.Labels["app"] != "web" {
		t.Errorf("it is %+v, %v", vm, err)
	}
	if r := w.run("start", "web", "--run-strategy", "Sometimes"); r.code == ExitOK || !strings.Contains(r.err, "write Always, RerunOnFailure, Manual, Once or Halted") {
		t.Errorf("got %+v", r)
	}
	if n := len(w.actions()); n != 1 {
		t.Errorf("%d actions: a start was asked for although the strategy was refused", n)
	}
}

// Nobody leads: the request is durable all the same, and the command says so instead of hanging.
func TestStartWithoutAnswer(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	w.patience = time.Nanosecond
	r := w.run("start", "web", "--request-id", "r1")
	if want := "vm/web: start accepted; the control plane has not carried it out yet (request r1)\n"; r.code != ExitOK || r.out != want {
		t.Errorf("got %+v, want %q", r, want)
	}
}

func TestStartAndWait(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableWaiting
		s.Waiting = &v1.Waiting{Reason: "StartLimit", Message: "4 are starting", Since: noon}
	})
	s := w.begin("start", "web", "--wait")
	w.answer(applied)
	s.err.await(t, "4 are starting")
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Waiting = v1.PrintableStarting, nil
		s.Instance = &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseLaunching}
	})
	s.err.await(t, "Starting")
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Instance = v1.PrintableRunning, &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseRunning}
	})
	s.expect(t, ExitOK, "vm/web running on host1\n", "vm/web: Waiting: 4 are starting\nvm/web: Starting on host1\n")
}

// A Manual VM whose one run failed is not waited for any longer.
func TestStartAndWaitForARunThatIsOver(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunManual)
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.Instance, s.Run = &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseLaunching}, &v1.Run{At: noon}
		s.PrintableStatus = v1.PrintableStarting
	})
	s := w.begin("start", "web", "--wait")
	w.answer(applied)
	s.err.await(t, "Starting")
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.Instance, s.Run, s.PrintableStatus = nil, nil, v1.PrintableStopped
		s.History = []v1.End{{Host: "host1", Phase: v1.PhaseFailed, Reason: "StartFailed", Message: "no such file", EndedAt: noon}}
	})
	s.expect(t, ExitError, "", "vm/web: Starting on host1\nError: vm/web: Stopped. Its last instance ended 0s ago (12:00:00) on host1: no such file. "+
		"Its run strategy is Manual: each start is for one run, and that run is over. It stays off until somebody starts it: \"holdfast start web\".\n")
}

// What each run strategy makes of an instance that ends while a start is waited for: some go on, for the others it is over.
func TestStartAndWaitByStrategy(t *testing.T) {
	clean := v1.End{Host: "host1", Phase: v1.PhaseSucceeded, Reason: "GuestShutdown", Message: "the guest shut itself down", EndedAt: noon}
	failed := v1.End{Host: "host1", Phase: v1.PhaseFailed, Reason: "StartFailed", Message: "no such file", EndedAt: noon}
	backOff := func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.History = v1.PrintableBackOff, []v1.End{failed}
		s.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "it failed once", Since: noon}
		s.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 1, RetryAt: noon.Add(time.Minute), LastFailure: failed}
	}
	for _, c := range []struct {
		name     string
		strategy v1.RunStrategy
		ended    func(*v1.VirtualMachineStatus)
		goesOn   bool
		says     string
	}{
		{"a clean end under RerunOnFailure", v1.RunRerunOnFailure, func(s *v1.VirtualMachineStatus) {
			s.History, s.Finished = []v1.End{clean}, &v1.Finished{Reason: clean.Reason, At: noon}
		}, false, "Its run strategy is RerunOnFailure: a new instance follows a failure, and this was none."},
		{"a failed start under RerunOnFailure", v1.RunRerunOnFailure, backOff, true, "CrashLoopBackOff (1 failure, retry in 1m)"},
		{"RerunOnFailure between two decisions", v1.RunRerunOnFailure, func(s *v1.VirtualMachineStatus) { s.History = []v1.End{failed} }, true, "vm/web: Stopped"},
		{"a clean end under Once", v1.RunOnce, func(s *v1.VirtualMachineStatus) {
			s.History, s.Run, s.Finished = []v1.End{clean}, nil, &v1.Finished{Reason: clean.Reason, At: noon}
		}, false, "Stopped: it has had its one run."},
		{"a failed start under Once", v1.RunOnce, backOff, true, "CrashLoopBackOff (1 failure, retry in 1m)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.vm("web", c.strategy)
			w.status("web", func(s *v1.VirtualMachineStatus) {
				s.PrintableStatus, s.Instance = v1.PrintableStarting, &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseLaunching}
				if c.strategy == v1.RunOnce {
					s.Run = &v1.Run{At: noon}
				}
			})
			s := w.begin("start", "web", "--wait")
			w.answer(applied)
			s.err.await(t, "Starting")
			w.status("web", func(s *v1.VirtualMachineStatus) {
				s.PrintableStatus, s.Instance = v1.PrintableStopped, nil
				c.ended(s)
			})
			s.err.await(t, c.says)
			want := ExitError
			if c.goesOn {
				want = ExitOK
				w.status("web", func(s *v1.VirtualMachineStatus) {
					s.PrintableStatus, s.Waiting, s.Instance = v1.PrintableRunning, nil, &v1.Instance{ID: "i2", Host: "host1", Phase: v1.PhaseRunning}
				})
			}
			if code := <-s.code; code != want {
				t.Errorf("it ended with %d, want %d: %s%s", code, want, s.out.String(), s.err.String())
			}
		})
	}
}

// Right after an edit nothing says yet whether the VM is going to run.
func TestStartAndWaitForASpecThatNobodyHasLookedAt(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunHalted)
	w.status("web", func(s *v1.VirtualMachineStatus) { s.PrintableStatus = v1.PrintableStopped })
	w.vm("web", v1.RunOnce)
	s := w.begin("start", "web", "--wait")
	w.answer(applied)
	s.err.await(t, "vm/web: Stopped")
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Instance = v1.PrintableRunning, &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseRunning}
	})
	s.expect(t, ExitOK, "vm/web running on host1\n", "vm/web: Stopped\n")
}

// A stop of a VM that somebody starts again meanwhile is over, whatever has become of it since.
func TestStopAndWaitForAVMThatIsStartedAgain(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunRerunOnFailure)
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Hold = v1.PrintableStopping, &v1.Hold{At: noon}
		s.Instance = &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseRunning, Stop: &v1.StopRequest{Reason: v1.StopReasonStop, Force: true}}
	})
	s := w.begin("stop", "web", "--wait", "--force")
	w.answer(applied)
	s.err.await(t, "Stopping on host1")
	w.status("web", func(s *v1.VirtualMachineStatus) { // the start comes before the end
		s.Hold, s.Instance.Paused = nil, "user" // a change to be seen in the progress
		s.PrintableStatus = "Stopping, to be started again"
	})
	s.err.await(t, "to be started again")
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Instance = v1.PrintableRunning, &v1.Instance{ID: "i2", Host: "host1", Phase: v1.PhaseRunning, RunningAt: noon, Generation: 1}
	})
	s.expect(t, ExitError, "", "vm/web: Stopping on host1\nvm/web: Stopping, to be started again on host1\nError: vm/web: Running on host1 since 0s ago (12:00:00). "+
		"Its run strategy is RerunOnFailure. It stays on until the guest shuts itself down or somebody stops it: \"holdfast stop web\". "+
		"After a failure a new instance follows.\n")
}

func TestRestartOfAOnceVMRefused(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunOnce)
	s := w.begin("restart", "web", "--wait")
	w.answer(v1.ActionStatus{Phase: v1.ActionRefused, Reason: "Over", Message: "its run strategy is Once: a restart would be a second run", At: noon})
	s.expect(t, ExitRefused, "", "Error: vm/web: the restart was refused: its run strategy is Once: a restart would be a second run\n")
}

func TestStopAndWaitForTwo(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b"} {
		w.vm(name, v1.RunAlways)
		w.status(name, func(s *v1.VirtualMachineStatus) {
			s.PrintableStatus, s.Instance = v1.PrintableStopping, &v1.Instance{ID: "i1", Host: "host1", Phase: v1.PhaseRunning,
				Stop: &v1.StopRequest{Reason: v1.StopReasonStop, At: noon, Deadline: noon.Add(time.Minute)}}
		})
	}
	s := w.begin("stop", "a", "b", "nobody", "--wait")
	w.answerAll(2, applied)
	for _, name := range []string{"a", "b"} {
		s.err.await(t, "vm/"+name+": Stopping on host1, switched off at 12:01:00 at the latest")
	}
	for _, name := range []string{"a", "b"} {
		w.status(name, func(s *v1.VirtualMachineStatus) {
			s.PrintableStatus, s.Hold, s.Instance = v1.PrintableStopped, &v1.Hold{At: noon}, nil
		})
	}
	if code := <-s.code; code != ExitNotFound || s.out.String() != "vm/a stopped\nvm/b stopped\n" || !strings.Contains(s.err.String(), "nobody") {
		t.Errorf("got %d %q %q", code, s.out.String(), s.err.String())
	}
}

// A restart is over when another instance runs, not while the old one still does.
func TestRestartAndWait(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	running := func(id string) func(*v1.VirtualMachineStatus) {
		return func(s *v1.VirtualMachineStatus) {
			s.PrintableStatus, s.Instance = v1.PrintableRunning, &v1.Instance{ID: id, Host: "host1", Phase: v1.PhaseRunning}
		}
	}
	w.status("web", running("i1"))
	s := w.begin("restart", "web", "--wait")
	w.answer(applied)
	s.err.await(t, "Running on host1")
	w.status("web", running("i2"))
	s.expect(t, ExitOK, "vm/web running again on host1\n", "vm/web: Running on host1\n")
}

// Nobody leads, and the time is over.
func TestWaitForAnAnswerTimesOut(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	r := w.run("start", "web", "--request-id", "r1", "--wait", "--timeout", "1ns")
	want := "Error: vm/web: the start is accepted (request r1), but the control plane has not carried it out within 1ns. " +
		"It goes on; \"holdfast get actions\" shows whether it was.\n"
	if r.code != ExitTimeout || r.out != "" || r.err != want {
		t.Errorf("got %+v\nwant %s", r, want)
	}
}

// Who gives up waiting says where things stand.
func TestGivingUpSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableUnschedulable
		s.Waiting = &v1.Waiting{Reason: "Unschedulable", Message: "there are no hosts", Since: ago(time.Minute)}
	})
	vm, err := w.client.GetVM(t.Context(), "", "web")
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(w.env("", &lockedBuffer{}, &lockedBuffer{}))
	err = a.gaveUp(w.client, vm, "web", 2*time.Minute)
	want := `vm/web: gave up waiting after 2m0s; what was asked for goes on.
  State: Unschedulable since 1m ago (11:59:00): no host can take it.
  Why:   There are no hosts.
  Next:  It starts as soon as there is one that can take it.`
	if exitCode(err) != ExitTimeout || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWaitForAVMThatIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	s := w.begin("start", "web", "--wait")
	w.answer(applied)
	s.err.await(t, "vm/web: Waiting")
	w.remove("web")
	s.expect(t, ExitNotFound, "", "vm/web: Waiting\nError: vm/web was deleted while waiting\n")
}

func TestDeleteAndWait(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunAlways)
	s := w.begin("delete", "vm", "web", "--wait", "--force")
	s.err.await(t, "vm/web: Terminating")
	vm, err := w.client.GetVM(t.Context(), "", "web")
	if err != nil || vm.Metadata.DeletionTimestamp == nil || !vm.Metadata.DeletionForce {
		t.Errorf("got %+v, %v", vm, err)
	}
	w.remove("web")
	s.expect(t, ExitOK, "vm/web deleted\n", "vm/web: Terminating\n")
}

func TestHostAddAndWait(t *testing.T) {
	w := newWorld(t)
	s := w.begin("host", "add", "h1", "qemu+tcp://h1/system", "--label", "rack=b", "--reserved-memory", "1Gi", "--wait")
	s.err.await(t, "host/h1: Connecting")
	h, err := w.client.GetHost(t.Context(), "h1")
	if err != nil || h.Metadata.Labels["rack"] != "b" || h.Spec.Reserved.Memory != 1<<30 {
		t.Fatalf("got %+v, %v", h, err)
	}
	w.hostStatus(h, v1.HostStatus{State: v1.HostUnreachable, Message: "no route to host"})
	s.err.await(t, "no route to host")
	w.hostStatus(h, v1.HostStatus{State: v1.HostUp})
	s.expect(t, ExitOK, "host/h1 added and up\n", "host/h1: Connecting\nhost/h1: Unreachable: no route to host\n")
}

func TestHostAddRefused(t *testing.T) {
	w := newWorld(t)
	s := w.begin("host", "add", "h1", "qemu+tcp://h1/system", "--wait")
	s.err.await(t, "host/h1: Connecting")
	h, err := w.client.GetHost(t.Context(), "h1")
	if err != nil {
		t.Fatal(err)
	}
	w.hostStatus(h, v1.HostStatus{State: v1.HostRefused, Message: "its host UUID is also that of h2", Since: ago(time.Minute)})
	s.expect(t, ExitRefused, "", "host/h1: Connecting\nError: host/h1: Refused since 1m ago (11:59:00): it answers, and must not be used. "+
		"Its host UUID is also that of h2. Nothing starts there. Remove the cause; the host is judged again within a minute.\n")
}
