package invariant

import (
	"cmp"
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// OneInstance is judged from outside alone. A domain that waits for an incoming migration is not yet one, nor does one count that an
// outsider has started, or that runs on a host of which a person has falsely said that it is down, until that host has been looked at.
var OneInstance = Check{
	Name: "OneInstance",
	Says: "never two instances of one VM that can be running at once",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			if _, ok := e.Fact.(Sample); ok {
				for uid := range w.vms {
					w.twice(uid, complain)
				}
				return
			}
			d, ok := e.Fact.(Domain)
			if !ok || !d.Active() {
				return
			}
			w.twice(d.UUID, complain)
			if w.before != nil && w.before.Active() && w.before.Instance != d.Instance {
				complain(d.UUID, "instance %s became %s on host %s without an end", w.before.Instance, d.Instance, d.Host)
			}
		}
	},
}

func (w *world) twice(uid string, complain complaint) {
	var can []*placed
	for _, p := range w.active(uid) {
		if d := w.domains[p]; d.Why != hypervisor.WhyIncoming && !d.byOutsider && w.host(p.host).lied.IsZero() {
			can = append(can, d)
		}
	}
	if len(can) > 1 {
		complain(uid, "instance %s can run on host %s and instance %s on host %s at once", can[0].Instance, can[0].Host, can[1].Instance, can[1].Host)
	}
}

// NoUnforcedStop explains each end of a running instance that was not the guest's, an outsider's or the power's doing by what a
// user asked for: an action that was not yet settled when the instance came into being, a deletion, an edit to Halted. A request that
// was refused, sooner or later, explains nothing, and an edit to any other run strategy ends nothing. A launch
// that was given up before Holdfast saw it run may be ended too, and so may what was written off because its host was said to be down, or
// what an outsider has started. Switching off without asking needs force, or the grace period,
// unless the end was asked for while Holdfast was still launching it.
var NoUnforcedStop = Check{
	Name: "NoUnforcedStop",
	Says: "no running instance ends by our hand without a user's stop, restart or delete",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			d, ok := e.Fact.(Domain)
			if !ok || d.Active() || w.before == nil || !w.before.Active() || w.before.Why == hypervisor.WhyStartup {
				return
			}
			if d.By != ByCall && d.By != ByUnknown {
				return
			}
			id := w.before.Instance
			m, in := w.vms[d.UUID], w.instance(d.UUID, id)
			if m == nil || in == nil {
				complain(d.UUID, "a running domain that is no known instance of ours was ended on host %s", d.Host)
				return
			}
			if w.before.byOutsider || m.lost(id) || m.revived(in) {
				return
			}
			ok, mayDestroyAt := m.mayEnd(w, in)
			switch {
			case !ok:
				complain(d.UUID, "instance %s of VM %s was ended on host %s (%s %s), and nobody had asked for it", id, m.name(), d.Host, d.Op, d.Why)
			case d.Op == "destroy" && e.At.Before(mayDestroyAt):
				complain(d.UUID, "instance %s of VM %s was switched off %s before its guest's grace period was over, and nobody had said force",
					id, m.name(), mayDestroyAt.Sub(e.At))
			}
		}
	},
}

// revived: the instance had ended before, its end was taken down, and a create that had been on its way has started it once more.
func (m *vm) revived(in *instance) bool {
	return len(in.ends) > 1 && m.ever(func(s *v1.VirtualMachineStatus) bool {
		return s.Instance != nil && s.Instance.ID == in.id && s.Instance.Abandon != nil
	})
}

// lost: a durable status has the instance as lost with its host.
func (m *vm) lost(instance string) bool {
	return m.ever(func(s *v1.VirtualMachineStatus) bool {
		return slices.ContainsFunc(s.History, func(e v1.End) bool { return e.Instance == instance && e.Reason == "HostLost" })
	})
}

// mayEnd reports whether a user, or a launch that was given up, explains the end of an instance, and from when on it may be
// switched off.
func (m *vm) mayEnd(w *world, in *instance) (ok bool, mayDestroyAt time.Time) {
	grace := cmp.Or(w.config.StopGracePeriod.Std(), 2*time.Minute)
	for _, s := range m.specs {
		if g := s.value.Spec.StopGracePeriod.Std(); g > 0 {
			grace = min(grace, g)
		}
	}
	because := func(at time.Time, force bool) {
		if !force {
			at = at.Add(grace)
		}
		if !ok || at.Before(mayDestroyAt) {
			ok, mayDestroyAt = true, at
		}
	}
	for _, a := range m.actions {
		if t := a.spec.Spec.Type; t != v1.ActionStop && t != v1.ActionRestart || w.refused[a.id()] {
			continue
		}
		// An action that was settled before this instance existed was about another one; one that was settled together with its
		// creation made it, unless it wants its end already.
		stillborn := in.created.value.Instance.Stop != nil
		if a.applied == 0 || a.applied > in.created.rev || a.applied == in.created.rev && stillborn {
			because(a.posted.at, a.spec.Spec.Force)
		}
	}
	for _, s := range m.specs {
		if s.value.Metadata.DeletionTimestamp != nil {
			because(s.at, s.value.Metadata.DeletionForce)
		}
		if strategy(&s.value.Spec) == v1.RunHalted && s.value.Metadata.Generation > in.created.value.Instance.Generation {
			because(s.at, false)
		}
	}
	neverSeenRunning := func(is func(*v1.Instance) bool) bool {
		return m.ever(func(s *v1.VirtualMachineStatus) bool {
			return s.Instance != nil && s.Instance.ID == in.id && s.Instance.RunningAt.IsZero() && is(s.Instance)
		})
	}
	switch {
	case neverSeenRunning(func(i *v1.Instance) bool { return i.Abandon != nil }):
		return true, time.Time{}
	case ok && neverSeenRunning(func(i *v1.Instance) bool { return i.Stop != nil }):
		return true, time.Time{}
	}
	return ok, mayDestroyAt
}

// StopSticks goes by the order of the store: what was durable first. A stop that is refused binds nobody, nor does one of a VM that
// was Halted: it puts no hold on that. Under every other run strategy it does, and no edit lifts it. A decision whose write was under
// way when the stop became durable is no violation.
var StopSticks = Check{
	Name: "StopSticks",
	Says: "after an acknowledged stop no new instance id until start",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				in := m.newInstance()
				if in == nil {
					continue
				}
				decided := in.created.at.Add(-underWay)
				if c := e.Fact.(Commit); !c.Sent.IsZero() {
					decided = c.Sent
				}
				if stop := m.binding(w, in.created.rev); stop != nil && decided.After(stop.posted.at) {
					complain(m.uid, "instance %s of VM %s was made at revision %d after stop %s was durable at %d",
						in.id, m.name(), in.created.rev, stop.id(), stop.posted.rev)
				}
			}
		}
	},
}

// underWay is how long the write of a decision may take that was made before the stop was seen. Its instance is ended at once.
const underWay = time.Second

// binding is the stop that forbids a new instance at the revision; nil when none does.
func (m *vm) binding(w *world, rev int64) *action {
	var stop *action
	for _, a := range m.actions {
		switch {
		case a.posted.rev >= rev || w.refused[a.id()]:
		case a.spec.Spec.Type == v1.ActionStop:
			stop = a
		default:
			stop = nil
		}
	}
	if stop == nil {
		return nil
	}
	// The strategies under which the stop may have been settled.
	settled := cmp.Or(stop.applied, rev)
	for i, s := range m.specs {
		effective := i == len(m.specs)-1 || m.specs[i+1].rev > stop.posted.rev
		if effective && s.rev <= settled && strategy(&s.value.Spec) == v1.RunHalted {
			return nil
		}
	}
	return stop
}
