package stories

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
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
	Paused         Verb = "outsider pauses"

	Freeze         Verb = "freeze"
	FreezeAtCreate Verb = "freeze at create"
	Unplug         Verb = "unplug"
	PowerCut       Verb = "power cut"
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
	if s.For > 0 {
		parts = append(parts, "for "+s.For.String())
	}
	return strings.Join(parts, " ")
}

// String is the whole story, a step a line.
func (s Story) String() string {
	t := s.Setting
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d hosts of %s, %d control planes, write %s in batches of %d, latency %v, events %v (%d%% lost, %d%% twice)\n",
		t.Seed, t.Hosts, t.Memory, t.Planes, t.Write, t.Batch, t.Fleet.Latency, t.Fleet.EventDelay, t.Fleet.EventLoss, t.Fleet.EventTwice)
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
