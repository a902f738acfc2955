package core

import (
	"container/heap"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
)

// The reasons in v1.ActionStatus.
const (
	ActionDone        = "Done"        // it took effect
	ActionOver        = "Over"        // a Once VM has had its run
	ActionNoChange    = "NoChange"    // what it asks for was so already
	ActionVMGone      = "VMGone"      // the VM it was for does not exist any more
	ActionExpired     = "Expired"     // nobody could act on it in time
	ActionTerminating = "Terminating" // the VM is being deleted
	ActionHalted      = "Halted"      // the run strategy forbids it
	ActionHeld        = "Held"        // a stop holds the VM
	ActionUnsupported = "Unsupported" // there is no such action
)

func (c *Core) actionPosted(a *v1.Action) {
	k := VMKey{a.Metadata.Namespace, a.Metadata.Name}
	if c.actions[k] != nil {
		return
	}
	copied := *a
	c.actions[k] = &copied
	switch {
	case settled(a):
		c.keep(&copied)
	case c.loaded:
		c.apply(&copied)
	default:
		c.pending = append(c.pending, &copied)
	}
}

func settled(a *v1.Action) bool {
	return a.Status.Phase == v1.ActionApplied || a.Status.Phase == v1.ActionRefused
}

// keep lets the action expire.
func (c *Core) keep(a *v1.Action) {
	heap.Push(&c.deadlines, deadline{at: a.Status.At.Add(keepAction), action: a})
}

func (c *Core) expire(a *v1.Action) {
	delete(c.actions, VMKey{a.Metadata.Namespace, a.Metadata.Name})
	c.ready.Units = append(c.ready.Units, Unit{Writes: []Write{DeleteAction{a.Metadata.Namespace, a.Metadata.Name}}})
}

// apply lets an action take effect. Its effect on the VM and its mark are written in one unit.
func (c *Core) apply(a *v1.Action) {
	st := v1.ActionStatus{Phase: v1.ActionRefused, At: c.now}
	v := c.vms[a.Spec.VMUID]
	switch {
	case v == nil:
		st.Reason, st.Message = ActionVMGone, "the VM "+a.Spec.VM+" that this was for does not exist any more; nothing was done"
	case !a.Spec.ExpiresAt.IsZero() && a.Spec.ExpiresAt.Before(c.now):
		st.Reason, st.Message = ActionExpired, "no control plane could act on it before "+a.Spec.ExpiresAt.UTC().Format("15:04:05")+" UTC; ask again"
	case v.Deleted:
		st.Reason, st.Message = ActionTerminating, "the VM "+v.Name+" is being deleted"
	default:
		st.Phase, st.Reason, st.Message = c.effect(v, a)
	}
	a.Status = st
	c.keep(a)
	mark := WriteAction{a.Metadata.Namespace, a.Metadata.Name, a.Metadata.UID, st}
	if v == nil {
		c.ready.Units = append(c.ready.Units, Unit{Writes: []Write{mark}})
		return
	}
	c.also(v, mark)
	c.decide(v)
	c.commit(v)
}

func (c *Core) effect(v *fleet.VM, a *v1.Action) (phase, reason, message string) {
	switch a.Spec.Type {
	case v1.ActionStart:
		return c.start(v, a)
	case v1.ActionStop:
		return c.stop(v, a)
	case v1.ActionRestart:
		return c.restart(v, a)
	}
	return v1.ActionRefused, ActionUnsupported, fmt.Sprintf("there is no action %q; there are start, stop and restart", a.Spec.Type)
}

func (c *Core) start(v *fleet.VM, a *v1.Action) (phase, reason, message string) {
	switch {
	case v.Strategy == v1.RunHalted:
		return v1.ActionRefused, ActionHalted, "its run strategy is Halted: set spec.runStrategy to Always or Manual, then start it"
	case v.Strategy == v1.RunOnce && over(v.Status):
		return v1.ActionRefused, ActionOver, "its run strategy is Once and it has run: set spec.runStrategy to Manual to run it again"
	}
	st := v.Mutable()
	held, crashed := st.Hold != nil, st.CrashLoop != nil
	started := !lifecycle.WantsOn(v.Strategy, st)
	st.Hold, st.CrashLoop, st.Finished = nil, nil, nil
	if (v.Strategy == v1.RunManual || v.Strategy == v1.RunOnce) && (st.Run == nil || st.Instance != nil && st.Instance.Stop != nil) {
		st.Run = &v1.Run{By: a.Spec.By, At: c.now}
	}
	switch {
	case held:
		return v1.ActionApplied, ActionDone, "the hold is lifted; it starts"
	case started:
		return v1.ActionApplied, ActionDone, "it starts"
	case crashed:
		return v1.ActionApplied, ActionDone, "its failures are forgotten; it is tried now"
	}
	return v1.ActionApplied, ActionNoChange, "it is already wanted on"
}

// over: the one run of a Once VM has been, or is being ended.
func over(st *v1.VirtualMachineStatus) bool {
	in := st.Instance
	return st.Finished != nil || in != nil && in.Stop != nil && !in.RunningAt.IsZero()
}

func (c *Core) stop(v *fleet.VM, a *v1.Action) (phase, reason, message string) {
	st := v.Mutable()
	if v.Strategy == v1.RunHalted && st.Instance == nil {
		return v1.ActionApplied, ActionNoChange, "its run strategy is Halted and it is off"
	}
	already := st.Hold != nil
	if !already {
		st.Hold = &v1.Hold{By: a.Spec.By, At: c.now}
	}
	st.Run = nil
	if st.Instance != nil {
		c.askToEnd(v, v1.StopRequest{Reason: v1.StopReasonStop, By: a.Spec.By, Force: a.Spec.Force})
		return v1.ActionApplied, ActionDone, "it is being stopped, and stays off until it is started"
	}
	if already {
		return v1.ActionApplied, ActionNoChange, "it is held already, and off"
	}
	return v1.ActionApplied, ActionDone, "it has no instance, and gets none until it is started"
}

func (c *Core) restart(v *fleet.VM, a *v1.Action) (phase, reason, message string) {
	switch {
	case v.Strategy == v1.RunHalted:
		return v1.ActionRefused, ActionHalted, "its run strategy is Halted: set spec.runStrategy to Always or Manual, then start it"
	case v.Strategy == v1.RunOnce:
		return v1.ActionRefused, ActionOver, "its run strategy is Once: a restart would be a second run; set spec.runStrategy to Manual first"
	case v.Status.Hold != nil:
		return v1.ActionRefused, ActionHeld, "it is held since a stop; start it instead"
	case v.Status.Instance == nil:
		return c.start(v, a)
	}
	st := v.Mutable()
	st.CrashLoop = nil
	if v.Strategy == v1.RunManual && st.Run == nil {
		st.Run = &v1.Run{By: a.Spec.By, At: c.now}
	}
	joined := st.Instance.Stop != nil
	c.askToEnd(v, v1.StopRequest{Reason: v1.StopReasonRestart, By: a.Spec.By, Force: a.Spec.Force})
	if joined {
		return v1.ActionApplied, ActionNoChange, "it is ending already; a new instance follows"
	}
	return v1.ActionApplied, ActionDone, "it is being stopped; a new instance follows"
}
