package invariant

import (
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// PersistBeforeAct looks for a status that was durable when the call left and that says why: a launch needs the instance in phase
// Launching on that host, a shutdown or destroy a request to end it (a destroy one that is forced, past its deadline or of
// an instance not yet seen running) or a launch given up, an undefine an end that is on record. Where calls are not seen, no instance runs that no status had before.
var PersistBeforeAct = Check{
	Name: "PersistBeforeAct",
	Says: "each command is explained by a durable write",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			if d, ok := e.Fact.(Domain); ok && d.Active() && d.Instance != "" && w.instance(d.UUID, d.Instance) == nil {
				complain(d.UUID, "instance %s runs on host %s, and no durable status has ever had it", d.Instance, d.Host)
			}
			c, ok := e.Fact.(Call)
			if !ok {
				return
			}
			m := w.vms[c.UUID]
			if m == nil || !m.ever(func(s *v1.VirtualMachineStatus) bool { return explains(s, c, e) }) {
				complain(c.UUID, "%s of instance %s left for host %s, and no status that was durable by then explains it", c.Op, c.Instance, c.Host)
			}
		}
	},
}

func explains(s *v1.VirtualMachineStatus, c Call, e Entry) bool {
	onRecord := slices.ContainsFunc(s.History, func(end v1.End) bool { return end.Instance == c.Instance })
	in := s.Instance
	if in == nil || in.ID != c.Instance || in.Host != c.Host {
		return onRecord && (c.Op == "destroy" || c.Op == "undefine")
	}
	givenUp := in.Abandon != nil
	switch c.Op {
	case "define", "create":
		return in.Phase == v1.PhaseLaunching
	case "shutdown":
		return in.Stop != nil
	case "destroy":
		return givenUp || in.Stop != nil && (in.Stop.Force || in.RunningAt.IsZero() || !in.Stop.Deadline.After(e.At))
	case "undefine":
		return givenUp || in.Stop != nil && in.RunningAt.IsZero()
	}
	return false
}
