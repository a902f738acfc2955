package stories

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

// Story is a setting and what happens in it.
type Story struct {
	Setting Setting
	Steps   []Step
}

// Step is one thing that happens.
type Step struct {
	// Index is its place in the story as generated, for replays of a part of it.
	Index int
	// At is when, from the beginning.
	At   time.Duration
	Verb Verb
	// VM or Host it happens to.
	VM, Host string
	// Strategy and Memory (apply).
	Strategy v1.RunStrategy
	Memory   v1.Quantity
	Force    bool
	// Moment and N (kill): at the N-th such moment.
	Moment Moment
	N      int
	// Late (kill at a late write) is when the write arrives.
	Late time.Duration
	// For is how long it lasts: a fault, the pause until another control plane starts.
	For time.Duration
	// Farewell (reboot) is how the host ends its guests; After is when its power goes.
	Farewell sim.Farewell
	After    time.Duration
	// Word (a power cut, a reboot, a pulled cable) is when a person looks, and says that the host is down if it is Unreachable; zero:
	// nobody does. They say so of a host without power, or, in stories with Lies, of one that is merely unplugged.
	Word time.Duration
}

// Verb is what happens in a step.
type Verb string

// The verbs: of users, of guests and outsiders, of hosts, of the control plane.
const (
	Apply   Verb = "apply"
	Start   Verb = "start"
	Stop    Verb = "stop"
	Restart Verb = "restart"
	Delete  Verb = "delete"

	GuestPowersOff Verb = "guest powers off"
	GuestCrashes   Verb = "guest crashes"
	Destroyed      Verb = "outsider destroys"
	Saved          Verb = "outsider saves"
	Started        Verb = "outsider starts"
	Paused         Verb = "outsider pauses"

	Freeze         Verb = "freeze"
	FreezeAtCreate Verb = "freeze at create"
	Unplug         Verb = "unplug"
	PowerCut       Verb = "power cut"
	Reboot         Verb = "reboot"
	LoseAnswers    Verb = "lose answers"
	FailStarts     Verb = "fail starts"
	Disconnect     Verb = "disconnect"
	RestartDaemon  Verb = "restart libvirtd"
	Cordon         Verb = "cordon"

	Kill    Verb = "kill"
	Isolate Verb = "isolate"
)

// String is the step on one line.
func (s Step) String() string {
	parts := []string{fmt.Sprintf("%3d %9s  %s", s.Index, s.At, s.Verb)}
	if s.VM != "" {
		parts = append(parts, s.VM)
	}
	if s.Host != "" {
		parts = append(parts, s.Host)
	}
	if s.Verb == Apply {
		parts = append(parts, string(s.Strategy), s.Memory.String())
	}
	if s.Force {
		parts = append(parts, "by force")
	}
	if s.Moment != "" {
		parts = append(parts, fmt.Sprintf("%s (%d)", s.Moment, s.N))
	} else if s.N > 0 {
		parts = append(parts, fmt.Sprint(s.N))
	}
	if s.Late > 0 {
		parts = append(parts, s.Late.String()+" later")
	}
	if s.Farewell != "" {
		parts = append(parts, fmt.Sprintf("by %s, off after %s", s.Farewell, s.After))
	}
	if s.For > 0 {
		parts = append(parts, "for "+s.For.String())
	}
	if s.Word > 0 {
		parts = append(parts, "somebody says that it is down after "+s.Word.String())
	}
	return strings.Join(parts, " ")
}

// String is the whole story, a step a line.
func (s Story) String() string {
	t := s.Setting
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d hosts of %s, %d control planes, write %s in batches of %d, latency %v, events %v (%d%% lost, %d%% twice)\n",
		t.Seed, t.Hosts, t.Memory, t.Planes, t.Write, t.Batch, t.Fleet.Latency, t.Fleet.EventDelay, t.Fleet.EventLoss, t.Fleet.EventTwice)
	if t.Lies {
		fmt.Fprintln(&b, "In this story people say that hosts are down which are merely unplugged.")
	}
	for _, step := range s.Steps {
		fmt.Fprintln(&b, step)
	}
	return b.String()
}

// Only is the story with the steps of those indices alone.
func (s Story) Only(keep map[int]bool) Story {
	var steps []Step
	for _, step := range s.Steps {
		if keep[step.Index] {
			steps = append(steps, step)
		}
	}
	s.Steps = steps
	return s
}
