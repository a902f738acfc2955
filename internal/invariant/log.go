package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// Entry is one line of a log.
type Entry struct {
	// At is when it happened.
	At time.Time
	// Rev is the store's revision at that moment; for a Commit, the one it made. Zero: not known, At decides.
	Rev  int64
	Fact Fact
}

// Fact is what an entry tells: a Commit, Domain, Call, Acknowledged, Fault, Sample or End.
type Fact interface {
	fmt.Stringer
	// about says whether the fact is part of the story of a VM or its host.
	about(uid string) bool
}

// Commit is one revision of the store. Give the whole prefix layout.Root, from the first revision on.
type Commit struct {
	Changes []store.Change
	// Sent is when the write left its writer, if it was on its way for long; zero means that it arrived at once.
	Sent time.Time
}

// Domain is a change of a domain's real state on a host, seen from outside.
type Domain struct {
	Host string
	// UUID of the domain; Instance is empty for a foreign one.
	UUID, Instance string
	// State it is in now; empty: not even defined.
	State hypervisor.DomainState
	Why   string
	// Memory in bytes and VCPUs; zero: not known.
	Memory v1.Quantity
	VCPUs  int
	// By is who caused it. Op (ByCall) is the call: create, shutdown (the guest followed a request), destroy, …
	By Cause
	Op string
}

// Active: the guest can run.
func (d Domain) Active() bool {
	return d.State == hypervisor.DomainRunning || d.State == hypervisor.DomainPaused
}

// Cause is who caused a change.
type Cause string

// The causes. An end of unknown cause counts as Holdfast's own.
const (
	ByUnknown  Cause = ""
	ByCall     Cause = "call"     // Holdfast
	ByGuest    Cause = "guest"    // the guest, unasked
	ByOutsider Cause = "outsider" // somebody else on the host
	ByPower    Cause = "power"    // the host lost power, or ended its guests as it was going down
)

// Call is a call to a host that changes something and has left: define, create, shutdown, destroy or undefine.
type Call struct{ Host, Op, UUID, Instance, Process string }

// Acknowledged is an action whose sender was told that it is accepted.
type Acknowledged struct{ Namespace, Name string }

// Fault is something the world did: a frozen host, a power cut, a killed control plane, or the end of it. Host is empty when it
// is about none.
type Fault struct {
	Host, What string
	// Down: the host went down, and everything that ran there has ended. Forgets: its libvirt does not know any more how what is
	// off there has ended.
	Down, Forgets bool
	// Death: a control plane was killed or cut off.
	Death bool
	// Lie: a person confirms that the host is down, and it is not. Until it is back and looked at, what runs there may run twice.
	Lie bool
}

// Sample is a moment at which statuses are judged. LeaderFor is how long one control plane has led without interruption.
type Sample struct{ LeaderFor time.Duration }

// End closes a log. Quiescent: everything has been healed and left alone for long enough that nothing remains to be done.
type End struct{ Quiescent bool }

func (c Commit) about(uid string) bool {
	return slices.ContainsFunc(c.Changes, func(ch store.Change) bool { return concerns(ch, uid) })
}

func (d Domain) about(uid string) bool       { return d.UUID == uid }
func (c Call) about(uid string) bool         { return c.UUID == uid }
func (a Acknowledged) about(uid string) bool { return false }
func (f Fault) about(uid string) bool        { return true }
func (s Sample) about(uid string) bool       { return false }
func (e End) about(uid string) bool          { return false }

func concerns(ch store.Change, uid string) bool {
	return strings.Contains(string(ch.Value), `"`+uid+`"`)
}

// String is a line for people for each key that the commit changed.
func (c Commit) String() string {
	var lines []string
	for _, ch := range c.Changes {
		lines = append(lines, tell(ch))
	}
	return strings.Join(lines, "\n\t\t")
}

// String is one line for people.
func (d Domain) String() string {
	return fmt.Sprintf("host %s: domain %s instance %s is %s (%s), by %s %s",
		d.Host, d.UUID, d.Instance, cmp.Or(string(d.State), "gone"), d.Why, cmp.Or(d.By, "unknown"), d.Op)
}

func (c Call) String() string {
	return fmt.Sprintf("%s calls host %s: %s domain %s instance %s", c.Process, c.Host, c.Op, c.UUID, c.Instance)
}

func (a Acknowledged) String() string { return "acknowledged: action " + a.Namespace + "/" + a.Name }
func (f Fault) String() string        { return strings.TrimSpace("fault: " + f.What + " " + f.Host) }
func (s Sample) String() string       { return "sample" }
func (e End) String() string          { return fmt.Sprintf("end, quiescent: %v", e.Quiescent) }

// Merge brings the logs of several observers into one order: by revision where it is known, a commit before what happened at its
// revision; by time where it is not; else as given.
func Merge(logs ...[]Entry) []Entry {
	all := slices.Concat(logs...)
	var commits []Entry
	for _, e := range all {
		if _, ok := e.Fact.(Commit); ok {
			commits = append(commits, e)
		}
	}
	slices.SortFunc(commits, func(a, b Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	for i := range all {
		if all[i].Rev > 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(commits, all[i].At, func(c Entry, at time.Time) int {
			if c.At.After(at) {
				return 1
			}
			return -1
		})
		if n > 0 {
			all[i].Rev = commits[n-1].Rev
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		_, ac := a.Fact.(Commit)
		_, bc := b.Fact.(Commit)
		switch {
		case a.Rev != b.Rev:
			return cmp.Compare(a.Rev, b.Rev)
		case ac != bc && ac:
			return -1
		case ac != bc:
			return 1
		}
		return a.At.Compare(b.At)
	})
	return all
}
