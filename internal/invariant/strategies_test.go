package invariant

import (
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func finished(reason string) func(*v1.VirtualMachineStatus) {
	return func(s *v1.VirtualMachineStatus) { s.Finished = &v1.Finished{Reason: reason} }
}

func runWanted(s *v1.VirtualMachineStatus) { s.Run = &v1.Run{} }

// endedAs is the status after an end that nobody asked for.
func endedAs(instance, reason string, change ...func(*v1.VirtualMachineStatus)) v1.VirtualMachineStatus {
	s := onRecord(instance, change...)
	s.History[0].Reason = reason
	return s
}

// What the run strategies RerunOnFailure and Once promise.
func TestStrategyStories(t *testing.T) {
	testStories(t, []story{
		{"a restart of a Once VM ends it before it is refused", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", true)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
			l.settle("r1", v1.ActionRefused)
		}, "NoUnforcedStop a"},
		{"a change to Once ends what runs", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.strategy("a", v1.RunOnce)
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
		}, "NoUnforcedStop a"},
		{"a change to RerunOnFailure ends what runs", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.strategy("a", v1.RunRerunOnFailure)
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
		}, "NoUnforcedStop a"},

		{"a Once VM is made another instance while it backs off, held", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{Hold: &v1.Hold{}}, "s1")
			l.wait(time.Minute)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},
		{"a stop does not hold RerunOnFailure", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{}, "s1")
			l.wait(time.Minute)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},
		{"a start that is refused lifts no hold", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{Hold: &v1.Hold{}}, "s1")
			l.post("s2", start, "a", false)
			l.settle("s2", v1.ActionRefused)
			l.wait(time.Minute)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},

		{"a Once VM runs twice", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
			l.status("a", endedAs("i1", "Crashed"))
			l.launch("h1", "a", "i2")
		}, "ActionsOnce a"},
		{"a start runs a Once VM a second time", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
			l.status("a", endedAs("i1", "Crashed", finished("Crashed")))
			l.post("s1", start, "a", false)
			l.launch("h1", "a", "i2", "s1")
		}, "ActionsOnce a"},
		{"a Once VM runs twice, and the first crashed before it was seen running", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.runs("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
			ended := endedAs("i1", "Crashed")
			l.status("a", ended)
			l.status("a", again("i2", ended))
		}, "ActionsOnce a"},
		{"a restart of a Once VM is accepted", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Restart", false)), "r1")
		}, "ActionsOnce a"},
		{"a start of a Halted VM is accepted", func(l *logbook) {
			l.strategy("a", v1.RunHalted)
			l.post("s1", start, "a", false)
			l.settle("s1", v1.ActionApplied)
		}, "ActionsOnce a"},
		{"a failed start of a Once VM is tried again", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			ended := endedAs("i1", "StartFailed", runWanted)
			l.status("a", ended)
			l.status("a", again("i2", ended))
		}, ""},
		{"a Once VM becomes Manual, and is started again", func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", endedAs("i1", "GuestShutdown", finished("GuestShutdown")))
			l.strategy("a", v1.RunManual)
			l.post("s1", start, "a", false)
			l.launch("h1", "a", "i2", "s1")
		}, ""},

		{"an outsider's end of RerunOnFailure is undone", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "destroyed", ByOutsider, "")
			ended := endedAs("i1", "EndedByOutsider")
			l.status("a", ended)
			l.status("a", again("i2", ended))
		}, "CleanEndStays a"},
		{"RerunOnFailure runs again after a refused request", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", cleanEnd("i1"))
			l.post("r1", restart, "a", false)
			l.settle("r1", v1.ActionRefused)
			l.status("a", again("i2", cleanEnd("i1")))
		}, "CleanEndStays a"},
		{"RerunOnFailure runs again after a crash", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
			ended := endedAs("i1", "Crashed")
			l.status("a", ended)
			l.status("a", again("i2", ended))
		}, ""},

		{"RerunOnFailure is off, and nothing says why", sampled(func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.status("a", endedAs("i1", "Crashed"))
		}), "EverythingHasAReason a"},
		{"RerunOnFailure is off after a clean end", sampled(func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.status("a", endedAs("i1", "GuestShutdown", finished("GuestShutdown")))
		}), ""},
		{"RerunOnFailure is off after a crash, as if that were clean", sampled(func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.status("a", endedAs("i1", "Crashed", finished("Crashed")))
		}), "EverythingHasAReason a"},
		{"Once is off and has not run", sampled(func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", endedAs("i1", "StartFailed"))
		}), "EverythingHasAReason a"},
		{"Once is off after a failed start, as if it had run", sampled(func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", endedAs("i1", "StartFailed", finished("StartFailed")))
		}), "EverythingHasAReason a"},
		{"Once is off after its run", sampled(func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", endedAs("i1", "Crashed", finished("Crashed")))
		}), ""},
		{"Once is off since it was changed to that", sampled(func(l *logbook) {
			l.strategy("a", v1.RunHalted)
			l.strategy("a", v1.RunOnce)
			l.status("a", onRecord("i1"))
		}), ""},
		{"Once waits for its run", sampled(func(l *logbook) {
			l.strategy("a", v1.RunOnce)
			l.status("a", onRecord("", runWanted, waiting))
		}), ""},
		{"Always is done", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.status("a", endedAs("i1", "GuestShutdown", finished("GuestShutdown"), waiting))
		}), "EverythingHasAReason a"},
	})
}
