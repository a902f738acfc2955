package invariant

import (
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// goingDown is how long before its host goes down an end may be the host's doing, with the time that it takes to notice both.
const goingDown = 5 * time.Minute

// EndsToldApart compares the ends on record, when nothing remains to be done, with what an observer outside saw. A record of a reason
// that other checks judge, and ends that no observer saw, are taken as they are. So are ends by a host that was going down when another
// instance has ended since, because only the last end is judged again when it turns out that the host went down, and when control planes
// died one after another just then: nobody knows for how long the host has been gone.
var EndsToldApart = Check{
	Name: "EndsToldApart",
	Says: "an end is on record as what it was: the guest's, an outsider's, its host's, or as asked",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			if end, ok := e.Fact.(End); !ok || !end.Quiescent {
				return
			}
			for _, m := range w.vms {
				if m.gone || m.status() == nil {
					continue
				}
				for i, record := range m.status().History {
					in := m.instances[record.Instance]
					if in == nil || len(in.ends) == 0 {
						continue
					}
					last := in.ends[len(in.ends)-1]
					unknowable := last.by == ByPower && (i > 0 || w.leaderless(last.at))
					if !unknowable && !m.was(w, in, record) {
						complain(m.uid, "the end of instance %s of VM %s is on record as %s at %s, and it ended at %s by %s (%s)", in.id, m.name(),
							record.Reason, record.EndedAt.UTC().Format(clock), last.at.UTC().Format(clock), last.by, last.why)
					}
				}
			}
		}
	},
}

// leaderless: control planes died again and again within two minutes.
func (w *world) leaderless(since time.Time) bool {
	n := 0
	for _, at := range w.deaths {
		if !at.Before(since) && at.Sub(since) < 2*time.Minute {
			n++
		}
	}
	return n > 1
}

// was reports whether one of the instance's ends was what the record says.
func (m *vm) was(w *world, in *instance, record v1.End) bool {
	h := w.host(record.Host)
	between := func(moments []time.Time, from, to time.Time) bool {
		return slices.ContainsFunc(moments, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
	}
	return slices.ContainsFunc(in.ends, func(end ending) bool {
		switch record.Reason {
		case "AsRequested":
			asked, _ := m.mayEnd(w, in)
			return asked
		case "GuestShutdown":
			return end.by == ByGuest && end.why == hypervisor.WhyShutdown
		case "EndedByOutsider":
			return end.by == ByOutsider
		case "Crashed":
			return end.why == hypervisor.WhyCrashed
		case "HostDown":
			word := h.spec.ConfirmedDown // somebody's word, true or false, counts as well
			return end.by == ByPower || between(h.downs, in.created.at, end.at.Add(goingDown)) || word != nil && word.At.After(end.at) ||
				slices.ContainsFunc(h.silences, func(s silence) bool {
					// From silence to boot nobody can tell when it went down; that it did must be true.
					return end.at.After(s.lost.Add(-goingDown)) && end.at.Before(s.booted) && between(h.downs, s.lost.Add(-goingDown), s.booted)
				})
		case "HostLost":
			return h.spec.ConfirmedDown != nil
		case "EndUnknown":
			return end.by == ByPower || end.by == ByOutsider || between(h.forgets, end.at, record.EndedAt)
		}
		return true
	})
}
