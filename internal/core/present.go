package core

import (
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// The conditions of a VM. One that is not there holds nothing that anybody should know.
const (
	// ConditionHostReachable is False while the host of the instance does not answer.
	ConditionHostReachable = "HostReachable"
	// ConditionPaused is True while the guest's CPUs stand still.
	ConditionPaused = "Paused"
	// ConditionRestartRequired is True while the instance is built from an older template.
	ConditionRestartRequired = "RestartRequired"
)

// present derives what tables and people see from the rest of the status.
func (c *Core) present(v *fleet.VM) {
	if word := c.word(v); v.Status.PrintableStatus != word {
		v.Mutable().PrintableStatus = word
	}
	c.presentConditions(v)
}

func (c *Core) word(v *fleet.VM) string {
	in, waiting := v.Status.Instance, v.Status.Waiting
	switch {
	case in != nil && c.unreachable(in.Host):
		return v1.PrintableUnknown
	case v.Deleted:
		return v1.PrintableTerminating
	case v.Quarantine != "":
		return v1.PrintableQuarantined
	case in == nil && waiting == nil:
		return v1.PrintableStopped
	case in == nil && waiting.Reason == WaitBackOff:
		return v1.PrintableBackOff
	case in == nil && waiting.Reason == WaitUnschedulable:
		return v1.PrintableUnschedulable
	case in == nil:
		return v1.PrintableWaiting
	case in.Stop != nil:
		return v1.PrintableStopping
	case in.Phase != v1.PhaseRunning:
		return v1.PrintableStarting
	case in.Paused != "":
		return v1.PrintablePaused
	}
	return v1.PrintableRunning
}

func (c *Core) unreachable(host string) bool {
	h := c.hosts[host]
	return h == nil || h.Status.State == v1.HostUnreachable
}

// presentConditions brings the conditions up to date; one that stays keeps its time.
func (c *Core) presentConditions(v *fleet.VM) {
	have, want := v.Status.Conditions, c.conditions(v)
	if len(have) == 0 && len(want) == 0 {
		return
	}
	changed := len(have) != len(want)
	for i := range want {
		want[i].LastTransitionTime = c.now
		j := slices.IndexFunc(have, func(h v1.Condition) bool { return h.Type == want[i].Type })
		if j >= 0 && have[j].Status == want[i].Status {
			want[i].LastTransitionTime = have[j].LastTransitionTime
		}
		changed = changed || j < 0 || have[j] != want[i]
	}
	if changed {
		v.Mutable().Conditions = want
	}
}

// conditions of v, sorted by type.
func (c *Core) conditions(v *fleet.VM) []v1.Condition {
	in := v.Status.Instance
	if in == nil {
		return nil
	}
	var out []v1.Condition
	if c.unreachable(in.Host) {
		out = append(out, v1.Condition{Type: ConditionHostReachable, Status: v1.ConditionFalse, Reason: WaitHostUnreachable,
			Message: in.Host + " does not answer, so it is unknown whether the VM runs; it is not started elsewhere, because it would " +
				"run twice if it does. When " + in.Host + " answers again, Holdfast looks and carries on; if it is down for good, say so: " +
				"holdfast host confirm-down " + in.Host})
	}
	if in.Paused != "" {
		out = append(out, v1.Condition{Type: ConditionPaused, Status: v1.ConditionTrue, Reason: pausedReason(in.Paused),
			Message: "the guest stands still (libvirt: " + in.Paused + "); Holdfast neither stops nor resumes it"})
	}
	if in.Generation < v.Generation && in.Stop == nil {
		if m := c.restartRequired(v); m != "" {
			out = append(out, v1.Condition{Type: ConditionRestartRequired, Status: v1.ConditionTrue, Reason: "TemplateChanged", Message: m})
		}
	}
	return out
}

// restartRequired says which parts of the template wait for the next instance; empty: none does.
func (c *Core) restartRequired(v *fleet.VM) string {
	next := " since this instance was made, and applies from the next one on: holdfast restart " + v.Name
	if v.Strategy == v1.RunOnce {
		next = " since this instance was made, and does not apply to it; its run strategy is Once, so no other follows"
	}
	if v.Built != nil {
		parts := fleet.Differences(v.Built, v.Template)
		if len(parts) == 0 {
			return ""
		}
		return "spec.template (" + strings.Join(parts, ", ") + ") has changed" + next
	}
	// The edit was made while another leader, or none, was there: what it said of it stands.
	for _, had := range v.Status.Conditions {
		if had.Type == ConditionRestartRequired {
			return had.Message
		}
	}
	return "spec may have changed" + next
}

// pausedReason is the constant for libvirt's reason.
func pausedReason(why string) string {
	switch why {
	case hypervisor.WhyIOError:
		return "IOError"
	case hypervisor.WhyUser:
		return "ByUser"
	case hypervisor.WhyIncoming:
		return "Migration"
	}
	return "Other"
}
