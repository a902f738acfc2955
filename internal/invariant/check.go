package invariant

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Check is one promise.
type Check struct {
	// Name as in the documents, Says what it promises.
	Name, Says string
	// begin makes a judge for one log.
	begin func() judge
}

// judge is told each entry after the world has taken it in, and complains about what breaks the promise.
type judge func(w *world, e Entry, complain complaint)

// complaint reports a violation. uid is the VM it is about, empty for none.
type complaint func(uid, format string, args ...any)

// All are the checks, in the order of the documents.
func All() []Check {
	return []Check{
		OneInstance, NoUnforcedStop, NoOvercommit, StartLimits, BackoffHonoured, StopSticks, CleanEndStays, PersistBeforeAct,
		ActionsOnce, EndsToldApart, EverythingHasAReason,
	}
}

// Violation is a broken promise with its evidence.
type Violation struct {
	Check string
	At    time.Time
	Rev   int64
	// VM is the uid of the VM; empty for none.
	VM string
	// Says what is wrong.
	Says string
	// Evidence is the VM's story up to and including the violation, the newest last.
	Evidence []Entry
}

// String is the violation with its evidence, one entry a line.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is violated at revision %d: %s\n", v.Check, v.Rev, v.Says)
	for _, e := range v.Evidence {
		fmt.Fprintf(&b, "\t%s rev %d: %s\n", e.At.UTC().Format(clock), e.Rev, e.Fact)
	}
	return b.String()
}

// maxEvidence is how many entries a violation shows.
const maxEvidence = 25

// Run judges a log in the order of Merge by the checks, and returns what breaks them: at most one violation for each check and VM.
func Run(log []Entry, checks ...Check) []Violation {
	var found []Violation
	seen := map[string]bool{}
	judges := make([]judge, len(checks))
	for i, c := range checks {
		judges[i] = c.begin()
	}
	w := newWorld(log)
	for n, e := range log {
		w.take(e)
		for i, j := range judges {
			j(w, e, func(uid, format string, args ...any) {
				if key := checks[i].Name + " " + uid; !seen[key] {
					seen[key] = true
					found = append(found, Violation{
						Check: checks[i].Name, At: e.At, Rev: e.Rev, VM: uid, Says: fmt.Sprintf(format, args...), Evidence: evidence(log[:n+1], uid),
					})
				}
			})
		}
	}
	return found
}

// evidence is the newest part of a VM's story.
func evidence(log []Entry, uid string) []Entry {
	var out []Entry
	for i := len(log) - 1; i >= 0 && len(out) < maxEvidence; i-- {
		if uid == "" || log[i].Fact.about(uid) {
			out = append(out, trimmed(log[i], uid))
		}
	}
	slices.Reverse(out)
	return out
}

// trimmed leaves of a commit only what is about the VM.
func trimmed(e Entry, uid string) Entry {
	c, ok := e.Fact.(Commit)
	if !ok || uid == "" {
		return e
	}
	own := Commit{Sent: c.Sent}
	for _, ch := range c.Changes {
		if concerns(ch, uid) {
			own.Changes = append(own.Changes, ch)
		}
	}
	e.Fact = own
	return e
}
