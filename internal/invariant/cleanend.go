package invariant

import v1 "github.com/holdfast-vm/holdfast/api/v1"

// CleanEndStays goes by how the end was classified: by the record of the last end that the new instance's status shows. How ends are
// to be classified is a table of the core's. An end that was asked for is not judged here: a restart makes a new instance.
var CleanEndStays = Check{
	Name: "CleanEndStays",
	Says: "RerunOnFailure, Manual, Once are not restarted after an end classified clean",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				in := m.newInstance()
				if in == nil || strategy(&m.spec().Spec) == v1.RunAlways || len(m.status().History) == 0 {
					continue
				}
				last := m.status().History[0]
				if cleanBy(last.Reason) && !m.askedSince(w, m.recorded(last.Instance)) {
					complain(m.uid, "instance %s of VM %s (%s) was made after %s had ended clean (%s), and nobody had asked for it",
						in.id, m.name(), strategy(&m.spec().Spec), last.Instance, last.Reason)
				}
			}
		}
	},
}

// recorded is the revision that put an instance's end on record, be it that the end still had to be made certain.
func (m *vm) recorded(instance string) int64 {
	for _, s := range m.statuses {
		h, in := s.value.History, s.value.Instance
		if len(h) > 0 && h[0].Instance == instance || in != nil && in.ID == instance && in.Abandon != nil {
			return s.rev
		}
	}
	return 0
}

// cleanBy: an end for that reason is one that the guest or its host's admin wished.
func cleanBy(reason string) bool { return reason == "GuestShutdown" || reason == "EndedByOutsider" }

// ranBy: an end for that reason is one of a guest that ran, as far as is known.
func ranBy(reason string) bool {
	return reason != "" && reason != "StartFailed" && reason != "StartTimeout" && reason != "NeverStarted"
}

// askedSince: a start or a restart that was not refused, or an edit, came, or was taken into account, at the revision or after it.
func (m *vm) askedSince(w *world, rev int64) bool {
	for _, a := range m.actions {
		if a.spec.Spec.Type != v1.ActionStop && !w.refused[a.id()] && max(a.posted.rev, a.applied) >= rev {
			return true
		}
	}
	generation := m.spec().Metadata.Generation
	for _, s := range m.statuses {
		if s.value.ObservedGeneration >= generation {
			return generation > 1 && s.rev >= rev
		}
	}
	return true
}
