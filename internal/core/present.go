package core

import (
	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
)

// ConditionHostReachable is False while the host of a VM's instance does not answer.
const ConditionHostReachable = "HostReachable"

// present derives what tables and people see from the rest of the status.
func (c *Core) present(v *fleet.VM) {
	if word := c.word(v); v.Status.PrintableStatus != word {
		v.Mutable().PrintableStatus = word
	}
	c.presentReachable(v)
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

// presentReachable keeps the one condition there is.
func (c *Core) presentReachable(v *fleet.VM) {
	in := v.Status.Instance
	lost := in != nil && c.unreachable(in.Host)
	had := len(v.Status.Conditions) > 0
	switch {
	case lost && !had:
		v.Mutable().Conditions = []v1.Condition{{
			Type: ConditionHostReachable, Status: v1.ConditionFalse, Reason: WaitHostUnreachable, LastTransitionTime: c.now,
			Message: in.Host + " does not answer, so it is unknown whether the VM runs; it is not started elsewhere, because it would " +
				"run twice if it does. When " + in.Host + " answers again, Holdfast looks and carries on",
		}}
	case !lost && had:
		v.Mutable().Conditions = nil
	}
}
