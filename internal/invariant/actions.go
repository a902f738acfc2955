package invariant

import (
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// ActionsOnce: an accepted action is never lost, is settled once, and does what it says once. Of the effects it judges
//
//   - a run of a Manual VM: each needs a start or restart of its own (that no end of an instance is caused by an action that
//     had its effect before is judged by NoUnforcedStop);
//   - the one run of a Once VM: whatever is asked for, no instance follows one that ran, and it is never restarted; nor do two of its
//     guests ever run, as an observer outside sees it, unless Holdfast gave one up before it saw it run;
//   - a Halted VM: it is neither started nor restarted;
//   - at the end: an instance that was to be stopped or restarted is gone, and a restart has made a new one, unless something
//     came after it that forbids it, or the VM says what it waits for.
var ActionsOnce = Check{
	Name: "ActionsOnce",
	Says: "each accepted action takes effect exactly once",
	begin: func() judge {
		tickets := map[string]int{} // runs that each Manual VM may still have
		ran := map[*instance]bool{} // an instance that runs, loses power and runs again is still one
		return func(w *world, e Entry, complain complaint) {
			for _, a := range w.settled {
				m := w.vms[a.spec.Spec.VMUID]
				if a.settles > 1 {
					complain(a.spec.Spec.VMUID, "action %s was settled %d times", a.id(), a.settles)
				}
				if m == nil || a.status.Phase != v1.ActionApplied {
					continue
				}
				if only := m.forbids(a.spec.Spec.Type); only != "" {
					complain(m.uid, "action %s (%s) was applied to VM %s, whose run strategy has always been %s", a.id(), a.spec.Spec.Type, m.name(), only)
				}
				if grantsRun(m, a) {
					tickets[m.uid]++
				}
			}
			for _, m := range w.changed {
				if in, before := m.newInstance(), m.ranBefore(); in != nil && before != "" && m.always(v1.RunOnce) {
					complain(m.uid, "instance %s of Once VM %s was made, and %s had been its one run", in.id, m.name(), before)
				}
			}
			switch f := e.Fact.(type) {
			case Domain:
				m, in := w.vms[f.UUID], w.instance(f.UUID, f.Instance)
				if m == nil || in == nil || f.State != hypervisor.DomainRunning || ran[in] {
					return
				}
				ran[in] = true
				if m.always(v1.RunOnce) {
					for _, other := range m.instances {
						if other != in && ran[other] && !m.givenUp(other.id) {
							complain(m.uid, "instance %s of Once VM %s runs, and instance %s has run before", in.id, m.name(), other.id)
						}
					}
				}
				if !m.always(v1.RunManual) {
					return
				}
				if tickets[m.uid]--; tickets[m.uid] < 0 {
					complain(m.uid, "instance %s of Manual VM %s runs, and no start or restart is left that asked for it", in.id, m.name())
				}
			case End:
				if f.Quiescent {
					w.lost(complain)
					w.effects(complain)
				}
			}
		}
	},
}

// grantsRun: a restart makes one new instance; a start does so unless the VM has a run already.
func grantsRun(m *vm, a *action) bool {
	switch a.spec.Spec.Type {
	case v1.ActionRestart:
		return true
	case v1.ActionStart:
		var before *v1.VirtualMachineStatus
		for _, s := range m.statuses {
			if s.rev < a.applied {
				before = s.value
			}
		}
		if before == nil || before.Run == nil || before.Instance == nil || before.Instance.Stop != nil {
			return true
		}
		// The instance's end that is on record since the same revision has come between when a run is wanted all the same.
		for _, s := range m.statuses {
			if s.rev == a.applied && s.value.Run != nil && (s.value.Instance == nil || s.value.Instance.ID != before.Instance.ID) {
				return true
			}
		}
		// Or a stop that was settled in the same revision has.
		return slices.ContainsFunc(m.actions, func(b *action) bool {
			return b.spec.Spec.Type == v1.ActionStop && b.applied == a.applied && b.posted.rev < a.posted.rev
		})
	}
	return false
}

// forbids is the strategy that forbids such an action and is the only one the VM has ever had; empty: none does.
func (m *vm) forbids(t v1.ActionType) v1.RunStrategy {
	switch {
	case t == v1.ActionRestart && m.always(v1.RunOnce):
		return v1.RunOnce
	case t != v1.ActionStop && m.always(v1.RunHalted):
		return v1.RunHalted
	}
	return ""
}

// always: the VM's run strategy has never been another.
func (m *vm) always(only v1.RunStrategy) bool {
	for _, s := range m.specs {
		if strategy(&s.value.Spec) != only {
			return false
		}
	}
	return true
}

// ranBefore is an instance before the newest that is known to have run: it was seen running, or an end that only a guest that ran can
// have is on record. Empty: none.
func (m *vm) ranBefore() string {
	for _, s := range m.statuses[:len(m.statuses)-1] {
		if in := s.value.Instance; in != nil && !in.RunningAt.IsZero() {
			return in.ID
		}
	}
	for _, end := range m.status().History {
		// One that was to be stopped before it was seen running, and is lost with its host, counts as stopped.
		lost := end.Reason == "HostLost" || end.Reason == "HostDown"
		stopped := end.Reason == "AsRequested" || lost && m.ever(func(s *v1.VirtualMachineStatus) bool {
			return s.Instance != nil && s.Instance.ID == end.Instance && s.Instance.Stop != nil
		})
		if !end.RunningAt.IsZero() || ranBy(end.Reason) && !stopped {
			return end.Instance
		}
	}
	return ""
}

// givenUp: Holdfast never saw the instance run, and wanted its end.
func (m *vm) givenUp(instance string) bool {
	wanted := false
	for _, s := range m.statuses {
		if in := s.value.Instance; in != nil && in.ID == instance {
			if !in.RunningAt.IsZero() {
				return false
			}
			wanted = wanted || in.Stop != nil || in.Abandon != nil
		}
	}
	return wanted
}

// lost finds actions that were accepted, to the knowledge of the store or the sender, and never settled.
func (w *world) lost(complain complaint) {
	for _, id := range w.acknowledged {
		if w.actions[id] == nil {
			complain("", "action %s was acknowledged, and the store never had it", id)
		}
	}
	for id, a := range w.actions {
		if a.applied == 0 && !w.gone(a.spec.Spec.VMUID) {
			complain(a.spec.Spec.VMUID, "action %s (%s) was accepted and never settled", id, a.spec.Spec.Type)
		}
	}
}

func (w *world) gone(uid string) bool {
	m := w.vms[uid]
	return m == nil || m.gone
}

func (w *world) effects(complain complaint) {
	for id, a := range w.actions {
		m := w.vms[a.spec.Spec.VMUID]
		if m == nil || a.status.Phase != v1.ActionApplied || a.spec.Spec.Type == v1.ActionStart || a.had == "" {
			continue
		}
		for _, p := range w.active(m.uid) {
			if w.domains[p].Instance == a.had {
				complain(m.uid, "action %s (%s) was applied, and instance %s still runs on host %s", id, a.spec.Spec.Type, a.had, p.host)
			}
		}
		waits := m.status() != nil && m.status().Waiting != nil
		if a.spec.Spec.Type == v1.ActionRestart && !waits && !m.forbiddenAfter(w, a) && !m.createdAfter(a.applied) {
			complain(m.uid, "action %s (restart) was applied, and no new instance has followed", id)
		}
	}
}

// forbiddenAfter: something came after the action, or was on its way, that keeps the VM off.
func (m *vm) forbiddenAfter(w *world, a *action) bool {
	for _, b := range m.actions {
		if b.spec.Spec.Type == v1.ActionStop && !w.refused[b.id()] && (b.applied >= a.applied || b.applied == 0) {
			return true
		}
	}
	for i, s := range m.specs {
		current := i == len(m.specs)-1 || m.specs[i+1].rev >= a.posted.rev
		forbids := strategy(&s.value.Spec) == v1.RunHalted || strategy(&s.value.Spec) == v1.RunOnce
		if current && (forbids || s.value.Metadata.DeletionTimestamp != nil) {
			return true
		}
	}
	return m.gone
}

func (m *vm) createdAfter(rev int64) bool {
	for _, in := range m.instances {
		if in.created.rev >= rev {
			return true
		}
	}
	return false
}
