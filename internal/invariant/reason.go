package invariant

import (
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// settled is how long a control plane gets to take in what was asked, or what happened, before its statuses are judged.
const settled = 15 * time.Second

// noticed is how long it gets to notice what happened on a host, resync included.
const noticed = 3 * time.Minute

// EverythingHasAReason judges the statuses at each Sample, when a control plane has led for long enough and nobody has asked for
// anything just before: a VM that is not as its owner wants says why, and none is called running or stopped that is not.
var EverythingHasAReason = Check{
	Name: "EverythingHasAReason",
	Says: "each VM that is not in the state its owner wants says why",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				if what := m.reasonless(); what != "" {
					complain(m.uid, "VM %s %s", m.name(), what)
				}
			}
			s, ok := e.Fact.(Sample)
			if !ok || s.LeaderFor < settled {
				return
			}
			for _, m := range w.vms {
				if m.gone || e.At.Sub(m.lastAsked()) < settled {
					continue
				}
				if missing := m.missingReason(); missing != "" {
					complain(m.uid, "VM %s: %s", m.name(), missing)
				}
				if s.LeaderFor >= noticed {
					m.reality(w, e.At, complain)
				}
			}
		}
	},
}

// lastAsked is when a user last wanted something of the VM.
func (m *vm) lastAsked() time.Time {
	at := m.specs[len(m.specs)-1].at
	if n := len(m.actions); n > 0 && m.actions[n-1].posted.at.After(at) {
		at = m.actions[n-1].posted.at
	}
	return at
}

// missingReason says what the status leaves unexplained; empty: nothing.
func (m *vm) missingReason() string {
	s, o := m.status(), m.spec()
	if s == nil {
		return "it has no status at all"
	}
	deleting := o.Metadata.DeletionTimestamp != nil
	wanted := strategy(&o.Spec)
	word := s.PrintableStatus
	unknown := word == v1.PrintableUnknown || word == v1.PrintableQuarantined
	switch {
	case word == "":
		return "it has no printable status"
	case s.ObservedGeneration < o.Metadata.Generation:
		return "its newest spec has not been taken into account"
	case unknown && !m.conditionSpeaks() && s.Waiting == nil:
		return "it is " + word + ", and no condition says why"
	case unknown:
		return ""
	case deleting && word != v1.PrintableTerminating:
		return "it is being deleted, and is called " + word
	case deleting:
		return ""
	case s.Instance == nil && s.Hold == nil && m.excuse() != "":
		return m.excuse()
	case s.Instance == nil && s.Hold == nil && m.wantedOn():
		if s.Waiting == nil || s.Waiting.Reason == "" || s.Waiting.Message == "" {
			return "it should run, has no instance, and does not say what it waits for"
		}
		if word == v1.PrintableRunning || word == v1.PrintableStopped {
			return "it waits, and is called " + word
		}
	case s.Instance != nil && (s.Hold != nil || wanted == v1.RunHalted) && s.Instance.Stop == nil && s.Instance.Abandon == nil:
		return "it should be off, has an instance, and nothing says that it is to end"
	case s.Instance != nil && s.Instance.Stop != nil && word != v1.PrintableStopping:
		return "its instance is to end, and it is called " + word
	case s.Instance != nil && s.Instance.Stop != nil && s.Instance.Stop.Reason == "":
		return "its instance is to end, and no reason is given"
	case s.Instance != nil && word == v1.PrintableStopped, s.Instance == nil && word == v1.PrintableRunning:
		return "it is called " + word + ", against its own instance"
	}
	return ""
}

// wantedOn: the VM should have an instance, by its strategy and by what the core has written down. A Once VM that has been nothing else
// has had its run, or is to have it.
func (m *vm) wantedOn() bool {
	switch s := m.status(); strategy(&m.spec().Spec) {
	case v1.RunAlways:
		return true
	case v1.RunRerunOnFailure:
		return s.Finished == nil
	case v1.RunManual:
		return s.Run != nil
	case v1.RunOnce:
		return s.Run != nil || s.Finished == nil && m.always(v1.RunOnce)
	}
	return false
}

// excuse is what is wrong with a VM's claim to be done; empty: nothing, or it claims no such thing.
func (m *vm) excuse() string {
	done := m.status().Finished
	if done == nil {
		return ""
	}
	switch is := strategy(&m.spec().Spec); {
	case is == v1.RunRerunOnFailure && !cleanBy(done.Reason):
		return "it is RerunOnFailure and off as if it had ended clean, and it ended as " + done.Reason
	case is == v1.RunOnce && !ranBy(done.Reason):
		return "it is Once and off as if it had run, and it ended as " + done.Reason
	case is != v1.RunRerunOnFailure && is != v1.RunOnce:
		return "it is " + string(is) + ", and is never done"
	}
	return ""
}

func (m *vm) conditionSpeaks() bool {
	for _, c := range m.status().Conditions {
		if c.Reason != "" && c.Message != "" {
			return true
		}
	}
	return false
}

// reality compares what a status says with what is there, unless the host was in trouble or something happened only just now.
func (m *vm) reality(w *world, at time.Time, complain complaint) {
	s := m.status()
	if s == nil {
		return
	}
	fresh := at.Sub(m.statuses[len(m.statuses)-1].at) < noticed
	running := w.active(m.uid)
	for p, d := range w.domains {
		if p.uuid == m.uid && (at.Sub(d.since) < noticed || at.Sub(w.host(p.host).fault) < noticed) {
			return
		}
	}
	switch {
	case fresh:
	case s.PrintableStatus == v1.PrintableRunning && len(running) == 0:
		complain(m.uid, "VM %s is called Running, and runs nowhere", m.name())
	case s.PrintableStatus == v1.PrintableStopped && len(running) > 0:
		complain(m.uid, "VM %s is called Stopped, and runs on host %s", m.name(), running[0].host)
	}
}

func (m *vm) reasonless() string {
	s, o := m.status(), m.spec()
	if m.gone || s.ObservedGeneration != o.Metadata.Generation || o.Metadata.DeletionTimestamp != nil || s.Instance != nil || s.Hold != nil {
		return ""
	}
	wanted := strategy(&o.Spec) == v1.RunAlways || strategy(&o.Spec) == v1.RunManual && s.Run != nil
	if wanted && s.Waiting == nil {
		return "should run, and a durable status says neither where nor why not"
	}
	return ""
}
