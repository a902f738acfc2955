package invariant

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

const (
	start   = v1.ActionStart
	stop    = v1.ActionStop
	restart = v1.ActionRestart
)

func held(s *v1.VirtualMachineStatus) { s.Hold = &v1.Hold{} }

func onRecord(id string, change ...func(*v1.VirtualMachineStatus)) v1.VirtualMachineStatus {
	s := v1.VirtualMachineStatus{PrintableStatus: v1.PrintableStopped, History: []v1.End{{Instance: id}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func waiting(s *v1.VirtualMachineStatus) {
	s.PrintableStatus = v1.PrintableWaiting
	s.Waiting = &v1.Waiting{Reason: "StartLimit", Message: "the host starts others"}
}

// story breaks exactly the promises it names ("Check vm, …"), and the others not.
type story struct {
	name  string
	story func(l *logbook)
	want  string
}

// testStories returns the names of the checks that the stories break.
func testStories(t *testing.T, stories []story) (broken map[string]bool) {
	broken = map[string]bool{}
	for _, tt := range stories {
		t.Run(tt.name, func(t *testing.T) {
			l := newLogbook()
			tt.story(l)
			got := l.violations()
			slices.Sort(got)
			want := strings.Split(tt.want, ", ")
			slices.Sort(want)
			for _, w := range want {
				broken[strings.Fields(w + " -")[0]] = true
			}
			if strings.Join(got, ", ") != strings.Join(want, ", ") {
				for _, v := range Run(Merge(l.entries), All()...) {
					t.Log(v)
				}
				t.Errorf("violated: %q, want %q", got, want)
			}
		})
	}
	return broken
}

// Each story breaks exactly the promises it names, and the others not. The ones that name none are legal ways of the world.
func TestStories(t *testing.T) {
	broken := testStories(t, []story{
		{"a VM is started, stopped by its owner, started again", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", false)
			l.add(Acknowledged{"default", "s1"})
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Stop", false), held), "s1")
			l.call("shutdown", "h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.status("a", onRecord("i1", held))
			l.call("undefine", "h1", "a", "i1")
			l.wait(time.Hour)
			l.add(Sample{LeaderFor: time.Hour})
			l.post("s2", start, "a", false)
			l.launch("h2", "a", "i2", "s2")
			l.wait(time.Hour)
			l.add(Sample{LeaderFor: time.Hour})
			l.add(End{Quiescent: true})
		}, ""},

		{"two hosts run it", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.runs("h2", "a", "i1")
		}, "OneInstance a"},
		{"one host runs it while the other waits for its migration", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.domain("h2", "a", "i1", hypervisor.DomainPaused, hypervisor.WhyIncoming, ByCall, "migrate")
		}, ""},
		{"another instance without an end", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.status("a", instanceOn("h1", "i2", v1.PhaseLaunching))
			l.runs("h1", "a", "i2")
		}, "OneInstance a"},
		{"power is cut, and it runs elsewhere", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "unknown", ByPower, "")
			l.status("a", onRecord("i1", waiting))
			l.launch("h2", "a", "i2")
		}, ""},

		{"destroyed by us, unasked", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, "NoUnforcedStop a"},
		{"an end of unknown cause, unasked", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByUnknown, "")
		}, "NoUnforcedStop a"},
		{"ended by guest, outsider", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", onRecord("i1", waiting))
			l.launch("h1", "a", "i2")
			l.ends("h1", "a", "i2", "destroyed", ByOutsider, "")
		}, ""},
		{"destroyed before the grace period is over", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", false)
			l.wait(time.Minute)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, "NoUnforcedStop a"},
		{"destroyed after the grace period", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", false)
			l.wait(2 * time.Minute)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, ""},
		{"a VM's own grace period counts", func(l *logbook) {
			l.vm("a", func(o *v1.VirtualMachine) { o.Spec.StopGracePeriod = v1.Duration(time.Second) })
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", false)
			l.wait(time.Second)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, ""},
		{"destroyed at once, by force", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", true)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, ""},
		{"a refused stop explains nothing", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("s1", stop, "a", true)
			l.settle("s1", v1.ActionRefused)
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, "NoUnforcedStop a"},
		{"one restart ends two instances", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Restart", false)), "r1")
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.status("a", onRecord("i1", waiting))
			l.launch("h1", "a", "i2")
			l.ends("h1", "a", "i2", "shutdown", ByCall, "shutdown")
		}, "NoUnforcedStop a"},
		{"edited to Halted", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.strategy("a", v1.RunHalted)
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
		}, ""},
		{"deleted", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.vm("a", func(o *v1.VirtualMachine) { o.Metadata.DeletionTimestamp = &l.now })
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.remove("a")
		}, ""},
		{"a launch that was given up turns out to run", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching, func(s *v1.VirtualMachineStatus) { s.Instance.Abandon = &v1.End{} }))
			l.runs("h1", "a", "i1")
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, ""},
		{"stopped while it is launching", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.runs("h1", "a", "i1")
			l.post("s1", stop, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching, stopping("Stop", false), held), "s1")
			l.call("destroy", "h1", "a", "i1")
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, ""},
		{"a running instance is given up", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, func(s *v1.VirtualMachineStatus) { s.Instance.Abandon = &v1.End{} }))
			l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
		}, "NoUnforcedStop a"},
		{"a domain of an unknown VM is destroyed", func(l *logbook) {
			l.domain("h1", "x", "i9", hypervisor.DomainRunning, "booted", ByOutsider, "")
			l.ends("h1", "x", "i9", "destroyed", ByCall, "destroy")
		}, "PersistBeforeAct x, NoUnforcedStop x"},

		{"promised more memory than there is", func(l *logbook) {
			for _, vm := range []string{"a", "b", "c", "d"} { // 4 × 1100Mi on 4Gi
				l.vm(vm, nil)
				l.launch("h1", vm, "i"+vm)
			}
		}, "NoOvercommit d"},
		{"more memory runs than there is", func(l *logbook) {
			l.domain("h1", "f", "", hypervisor.DomainRunning, "booted", ByOutsider, "")
			l.wait(time.Hour)
			for _, vm := range []string{"a", "b", "c"} {
				l.vm(vm, func(o *v1.VirtualMachine) { o.Spec.Template.Memory = 1 << 30 })
				l.launch("h1", vm, "i"+vm)
			}
			l.domain("h1", "a", "ia", hypervisor.DomainInactive, "shutdown", ByGuest, "")
			l.status("a", onRecord("ia", waiting))
			l.vm("big", nil)
			l.status("big", instanceOn("h1", "ibig", v1.PhaseLaunching))
			l.add(Domain{Host: "h1", UUID: "big", Instance: "ibig", State: hypervisor.DomainRunning, Memory: 2 << 30, By: ByCall, Op: "create"})
		}, "NoOvercommit big"},
		{"a foreign domain that nobody could know of yet", func(l *logbook) {
			l.vm("a", nil)
			l.add(Domain{Host: "h1", UUID: "f", State: hypervisor.DomainRunning, Memory: 4 << 30, By: ByOutsider})
			l.launch("h1", "a", "i1")
		}, ""},
		{"promised less than the guest has", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching, func(s *v1.VirtualMachineStatus) { s.Instance.Memory = 1 << 20 }))
		}, "NoOvercommit a"},
		{"promised more CPUs than there are", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching, func(s *v1.VirtualMachineStatus) { s.Instance.VCPUs = 17 }))
		}, "NoOvercommit a"},

		{"more launches than the host's limit", func(l *logbook) {
			l.config(v1.ClusterConfigSpec{StartLimit: v1.StartLimit{PerHost: 1}})
			l.vm("a", nil)
			l.vm("b", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.status("b", instanceOn("h1", "i2", v1.PhaseLaunching))
		}, "StartLimits b"},
		{"more launches than the cluster's limit", func(l *logbook) {
			l.config(v1.ClusterConfigSpec{StartLimit: v1.StartLimit{Cluster: 1}})
			l.vm("a", nil)
			l.vm("b", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.status("b", instanceOn("h2", "i2", v1.PhaseLaunching))
		}, "StartLimits b"},
		{"as many launches as the limits allow", func(l *logbook) {
			l.config(v1.ClusterConfigSpec{StartLimit: v1.StartLimit{Cluster: 2, PerHost: 1}})
			l.vm("a", nil)
			l.vm("b", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.status("b", instanceOn("h2", "i2", v1.PhaseLaunching))
		}, ""},

		{"tried again too soon", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("i1", waiting, crashed(l.now, "i1", 1, 10*time.Second)))
			l.wait(9 * time.Second)
			l.status("a", instanceOn("h1", "i2", v1.PhaseLaunching))
		}, "BackoffHonoured a"},
		{"tried again in time", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("i1", waiting, crashed(l.now, "i1", 1, 10*time.Second)))
			l.wait(10 * time.Second)
			l.status("a", instanceOn("h1", "i2", v1.PhaseLaunching))
		}, ""},
		{"a start resets the back-off", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("i1", waiting, crashed(l.now, "i1", 1, 10*time.Second)))
			l.post("s1", start, "a", false)
			l.status("a", instanceOn("h1", "i2", v1.PhaseLaunching), "s1")
		}, ""},
		{"the delay does not grow", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("i1", waiting, crashed(l.now, "i1", 3, 31*time.Second))) // 40 s − 20 % = 32 s
		}, "BackoffHonoured a"},
		{"the delay is capped", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("i1", waiting, crashed(l.now, "i1", 99, 4*time.Minute)))
		}, ""},

		{"a new instance after a stop", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", stop, "a", false)
			l.wait(2 * time.Second)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},
		{"a decision was under way when the stop came", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", stop, "a", false)
			l.wait(time.Millisecond)
			l.launch("h1", "a", "i1")
		}, ""},
		{"a decision was on its way for long when the stop came", func(l *logbook) {
			l.vm("a", nil)
			sent := l.now
			l.wait(time.Second)
			l.post("s1", stop, "a", false)
			l.wait(time.Minute)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			last := &l.entries[len(l.entries)-1]
			last.Fact = Commit{Changes: last.Fact.(Commit).Changes, Sent: sent}
		}, ""},
		{"an edit lifts a hold", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", stop, "a", false)
			l.status("a", onRecord("", held), "s1")
			l.wait(time.Minute)
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},
		{"a refused stop binds nobody", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", stop, "a", false)
			l.launch("h1", "a", "i1")
			l.settle("s1", v1.ActionRefused)
		}, ""},
		{"a stop of a Halted VM is nothing", func(l *logbook) {
			l.strategy("a", v1.RunHalted)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{}, "s1")
			l.strategy("a", v1.RunAlways)
			l.launch("h1", "a", "i1")
		}, ""},
		{"a stop of a Manual VM holds it when it is Always", func(l *logbook) {
			l.strategy("a", v1.RunManual)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{}, "s1")
			l.wait(time.Minute)
			l.strategy("a", v1.RunAlways)
			l.launch("h1", "a", "i1")
		}, "StopSticks a"},
		{"a Manual VM starts after a stop", func(l *logbook) {
			l.strategy("a", v1.RunManual)
			l.post("s0", start, "a", false)
			l.post("s1", stop, "a", false)
			l.status("a", v1.VirtualMachineStatus{}, "s0", "s1")
			l.wait(time.Minute)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
		}, "StopSticks a"},

		{"RerunOnFailure runs again after its guest shut down", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", cleanEnd("i1"))
			l.status("a", again("i2", cleanEnd("i1")))
		}, "CleanEndStays a"},
		{"RerunOnFailure is started again after its guest shut down", func(l *logbook) {
			l.strategy("a", v1.RunRerunOnFailure)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", cleanEnd("i1"))
			l.post("s1", start, "a", false)
			l.status("a", again("i2", cleanEnd("i1")), "s1")
		}, ""},
		{"Always runs again after its guest shut down", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", again("i2", cleanEnd("i1")))
		}, ""},

		{"a create that no status explains", func(l *logbook) {
			l.vm("a", nil)
			l.call("create", "h1", "a", "i1")
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
		}, "PersistBeforeAct a"},
		{"a define on another host than the promised", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.call("define", "h2", "a", "i1")
		}, "PersistBeforeAct a"},
		{"a launch that is only scheduled", func(l *logbook) {
			l.vm("a", nil)
			l.status("a", instanceOn("h1", "i1", v1.PhaseScheduled))
			l.call("define", "h1", "a", "i1")
		}, "PersistBeforeAct a"},
		{"a shutdown without a request", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.call("shutdown", "h1", "a", "i1")
		}, "PersistBeforeAct a"},
		{"a destroy before the deadline", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Stop", false)))
			l.call("destroy", "h1", "a", "i1")
		}, "PersistBeforeAct a"},
		{"an undefine before the end is on record", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
			l.call("undefine", "h1", "a", "i1")
		}, "PersistBeforeAct a"},
		{"a running instance that no status ever had", func(l *logbook) {
			l.vm("a", nil)
			l.runs("h1", "a", "i1")
		}, "PersistBeforeAct a"},

		{"an acknowledged action is lost", func(l *logbook) {
			l.add(Acknowledged{"default", "s1"})
			l.add(End{Quiescent: true})
		}, "ActionsOnce "},
		{"an action is never settled", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", start, "a", false)
			l.add(End{Quiescent: true})
		}, "ActionsOnce a"},
		{"an action of a VM that is gone needs no settling", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", start, "a", false)
			l.remove("a")
			l.add(End{Quiescent: true})
		}, ""},
		{"an action is settled twice", func(l *logbook) {
			l.vm("a", nil)
			l.post("s1", start, "a", false)
			l.settle("s1", v1.ActionApplied)
			l.settle("s1", v1.ActionApplied)
		}, "ActionsOnce a"},
		{"a start of a Manual VM runs it twice", func(l *logbook) {
			l.strategy("a", v1.RunManual)
			l.post("s1", start, "a", false)
			l.launch("h1", "a", "i1", "s1")
			l.ends("h1", "a", "i1", "shutdown", ByGuest, "")
			l.status("a", onRecord("i1"))
			l.launch("h1", "a", "i2")
		}, "ActionsOnce a"},
		{"a launch that failed unseen is tried again", func(l *logbook) {
			l.strategy("a", v1.RunManual)
			l.post("s1", start, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching), "s1")
			l.domain("h1", "a", "i1", hypervisor.DomainPaused, hypervisor.WhyStartup, ByCall, "create")
			l.ends("h1", "a", "i1", "failed", ByCall, "create")
			l.runs("h1", "a", "i1")
		}, ""},
		{"two starts of a Manual VM run it twice", func(l *logbook) {
			l.strategy("a", v1.RunManual)
			for i, id := range []string{"s1", "s2"} {
				in := []string{"i1", "i2"}[i]
				l.post(id, start, "a", false)
				l.launch("h1", "a", in, id)
				l.ends("h1", "a", in, "shutdown", ByGuest, "")
				l.status("a", onRecord(in))
			}
		}, ""},
		{"a restart stops and forgets", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Restart", false)), "r1")
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.add(End{Quiescent: true})
		}, "ActionsOnce a"},
		{"a restart waits for room", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Restart", false)), "r1")
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.status("a", onRecord("i1", waiting))
			l.add(End{Quiescent: true})
		}, ""},
		{"a restart does nothing", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.settle("r1", v1.ActionApplied)
			l.add(End{Quiescent: true})
		}, "ActionsOnce a"},
		{"a stop overtakes a restart", func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.post("r1", restart, "a", false)
			l.post("s1", stop, "a", false)
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, stopping("Stop", false), held), "r1", "s1")
			l.ends("h1", "a", "i1", "shutdown", ByCall, "shutdown")
			l.add(End{Quiescent: true})
		}, ""},

		{"no status at all", sampled(func(l *logbook) { l.vm("a", nil) }), "EverythingHasAReason a"},
		{"waits without a reason", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.status("a", v1.VirtualMachineStatus{PrintableStatus: v1.PrintableWaiting})
		}), "EverythingHasAReason a"},
		{"waits with a reason", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.status("a", onRecord("", waiting))
		}), ""},
		{"unknown without a condition", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.status("a", v1.VirtualMachineStatus{PrintableStatus: v1.PrintableUnknown})
		}), "EverythingHasAReason a"},
		{"held, and its instance is to stay", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.status("a", instanceOn("h1", "i1", v1.PhaseRunning, held))
		}), "EverythingHasAReason a"},
		{"the newest spec is not seen", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.vm("a", nil)
		}), "EverythingHasAReason a"},
		{"called Running, runs nowhere", sampled(func(l *logbook) {
			l.vm("a", nil)
			l.launch("h1", "a", "i1")
			l.ends("h1", "a", "i1", "crashed", ByGuest, "")
		}), "EverythingHasAReason a"},
		{"called Stopped, and runs", sampled(func(l *logbook) {
			l.strategy("a", v1.RunHalted)
			l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
			l.runs("h1", "a", "i1")
			l.status("a", onRecord("i1"))
		}), "EverythingHasAReason a"},
		{"a new leader has not had the time", func(l *logbook) {
			l.vm("a", nil)
			l.wait(time.Hour)
			l.add(Sample{LeaderFor: time.Second})
		}, ""},
	})
	maps.Copy(broken, testStories(t, endStories))
	for _, c := range All() { // a check that nothing breaks would be worthless
		if !broken[c.Name] {
			t.Errorf("no story breaks %s", c.Name)
		}
	}
}

func cleanEnd(instance string) v1.VirtualMachineStatus {
	return v1.VirtualMachineStatus{PrintableStatus: v1.PrintableStopped,
		History: []v1.End{{Instance: instance, Phase: v1.PhaseSucceeded, Reason: "GuestShutdown"}}}
}

// again is the status of the next instance, with the record of the ends before.
func again(instance string, ended v1.VirtualMachineStatus) v1.VirtualMachineStatus {
	s := instanceOn("h1", instance, v1.PhaseLaunching)
	s.History = ended.History
	return s
}

// sampled adds to a story a moment of judgement an hour later.
func sampled(story func(*logbook)) func(*logbook) {
	return func(l *logbook) {
		story(l)
		l.wait(time.Hour)
		l.add(Sample{LeaderFor: time.Hour})
	}
}

func crashed(at time.Time, instance string, n int, delay time.Duration) func(*v1.VirtualMachineStatus) {
	return func(s *v1.VirtualMachineStatus) {
		s.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: n, LastFailure: v1.End{Instance: instance, EndedAt: at}, RetryAt: at.Add(delay)}
	}
}

func TestEvidenceTellsTheStory(t *testing.T) {
	l := newLogbook()
	l.vm("a", nil)
	l.vm("b", nil)
	l.launch("h1", "a", "i1")
	l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
	vs := Run(Merge(l.entries), All()...)
	if len(vs) != 1 {
		t.Fatalf("%d violations, want 1", len(vs))
	}
	text := vs[0].String()
	for _, want := range []string{"NoUnforcedStop is violated", "instance i1 of VM default/a", "p calls host h1: create", "destroy"} {
		if !strings.Contains(text, want) {
			t.Errorf("the evidence does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, layoutOfB) {
		t.Errorf("the evidence tells of another VM:\n%s", text)
	}
}

const layoutOfB = "/vm/default/b"

// Entries of observers without revisions find their place by time.
func TestMerge(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	store := []Entry{{at(10), 1, Commit{}}, {at(20), 2, Commit{}}}
	outside := []Entry{{at(15), 0, Fault{What: "between"}}, {at(5), 0, Fault{What: "before"}}, {at(25), 0, Fault{What: "after"}}}
	exact := []Entry{{at(20), 1, Fault{What: "knows better"}}}
	var got []string
	for _, e := range Merge(outside, store, exact) {
		got = append(got, strings.TrimPrefix(e.Fact.String(), "fault: "))
	}
	want := []string{"before", "", "between", "knows better", "", "after"}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}
