package core

import (
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
)

// vmChanged takes over a VM's spec; its status too, when the VM is new to this term.
func (c *Core) vmChanged(o *v1.VirtualMachine) {
	k := VMKey{o.Metadata.Namespace, o.Metadata.Name}
	v := c.vms[o.Metadata.UID]
	if v == nil {
		v = fleet.NewVM(o)
		c.vms[v.UID], c.names[k] = v, v.UID
	} else if o.Metadata.Generation >= v.Generation {
		v.Digest(o)
	}
	if c.loaded {
		c.touch(v)
	}
}

func (c *Core) oldRevisions(ev VMOldRevisions) {
	v := c.vms[c.names[ev.Key]]
	if v == nil {
		return
	}
	if v.OldestRevision == 0 || ev.Oldest < v.OldestRevision {
		v.OldestRevision = ev.Oldest
	}
	c.touch(v)
}

// decide brings the VM one step nearer to what its owner wants. It looks at state only, so it may run at any time and as often as
// one likes; each rule either acts and returns, or leaves the matter to the next.
func (c *Core) decide(v *fleet.VM) {
	v.Deadline = time.Time{}
	fresh := v.Fresh
	v.Fresh = false
	c.observeGeneration(v)
	c.blameHost(v)
	c.wishStop(v)
	c.cleanLeftovers(v)
	c.releaseRevisions(v)
	switch {
	case v.Status.Instance != nil:
		c.queue.Remove(v.UID)
		c.decideInstance(v)
	case v.Deleted:
		c.queue.Remove(v.UID)
		c.setWaiting(v, "", "")
		c.finishDeletion(v)
	case !lifecycle.WantsOn(v.Strategy, v.Status):
		c.queue.Remove(v.UID)
		c.setWaiting(v, "", "")
	case v.Quarantine != "":
		c.queue.Remove(v.UID)
		c.setWaiting(v, WaitQuarantine, "an instance that Holdfast does not know runs on "+v.Quarantine+
			"; a person must look at it: end it there (virsh destroy), and the VM starts")
	case v.Status.CrashLoop != nil && v.Status.CrashLoop.RetryAt.After(c.now):
		c.queue.Remove(v.UID)
		c.setWaiting(v, WaitBackOff, backOffMessage(v.Status.CrashLoop))
		until(v, v.Status.CrashLoop.RetryAt)
	default:
		v.Fresh = fresh
		c.enqueue(v)
	}
}

// observeGeneration: a new spec gives a crash-looping VM a fresh chance; a new run strategy is taken up.
func (c *Core) observeGeneration(v *fleet.VM) {
	if v.Status.ObservedGeneration == v.Generation {
		return
	}
	st := v.Mutable()
	if st.ObservedGeneration != 0 {
		st.CrashLoop = nil
	}
	if v.Strategy != st.ObservedRunStrategy {
		c.takeUpStrategy(v, st)
	}
	st.ObservedGeneration, st.ObservedRunStrategy = v.Generation, v.Strategy
}

// takeUpStrategy: a change to Manual or Once touches nothing, so a VM that was wanted on stays so, for one run; a change to
// RerunOnFailure starts a VM that is off, unless its last end was clean.
func (c *Core) takeUpStrategy(v *fleet.VM, st *v1.VirtualMachineStatus) {
	created := st.ObservedGeneration == 0
	wanted := lifecycle.WantsOn(st.ObservedRunStrategy, st)
	st.Finished = nil
	switch v.Strategy {
	case v1.RunManual, v1.RunOnce:
		if st.Run == nil && (wanted || created && v.Strategy == v1.RunOnce) {
			st.Run = &v1.Run{At: c.now}
		}
	case v1.RunRerunOnFailure:
		st.Run = nil
		if st.Instance == nil && len(st.History) > 0 && lifecycle.Clean(st.History[0]) {
			st.Finished = finished(st.History[0])
		}
	default:
		st.Run = nil
	}
}

func finished(e v1.End) *v1.Finished {
	return &v1.Finished{Instance: e.Instance, Reason: e.Reason, At: e.EndedAt}
}

// wishStop records on the instance that it should end: by deletion, hold or run strategy.
func (c *Core) wishStop(v *fleet.VM) {
	in := v.Status.Instance
	if in == nil {
		return
	}
	var want v1.StopRequest
	switch {
	case v.Deleted:
		want = v1.StopRequest{Reason: v1.StopReasonDelete, Force: v.DeleteForce}
	case v.Status.Hold != nil:
		want = v1.StopRequest{Reason: v1.StopReasonStop, By: v.Status.Hold.By}
	case v.Strategy == v1.RunHalted:
		want = v1.StopRequest{Reason: v1.StopReasonHalted}
	default:
		return
	}
	c.askToEnd(v, want)
}

// askToEnd sets or sharpens the instance's stop request: a restart becomes a stop, and force is added; nothing is taken back.
func (c *Core) askToEnd(v *fleet.VM, want v1.StopRequest) {
	in := v.Status.Instance
	have := in.Stop
	if have != nil && (have.Reason != v1.StopReasonRestart || want.Reason == v1.StopReasonRestart) && (have.Force || !want.Force) &&
		(want.Reason != v1.StopReasonDelete || have.Reason == v1.StopReasonDelete) {
		return
	}
	want.At, want.Deadline = c.now, c.now.Add(c.stopGrace(v))
	if have != nil {
		want.At, want.Deadline, want.Force = have.At, have.Deadline, want.Force || have.Force
		if want.Reason == v1.StopReasonRestart {
			want.Reason, want.By = have.Reason, have.By
		}
	}
	if want.Force {
		want.Deadline = c.now
	}
	v.Mutable().Instance.Stop = &want
}

// finishDeletion removes the VM once nothing of it is left on any host.
func (c *Core) finishDeletion(v *fleet.VM) {
	if len(v.Status.Leftovers) > 0 {
		host := v.Status.Leftovers[0]
		if h := c.hosts[host]; h != nil && !h.Usable() {
			c.setWaiting(v, WaitHostUnreachable, "its definition on "+host+" must be removed first, and "+host+" does not answer")
		}
		return
	}
	if v.Quarantine != "" {
		c.setWaiting(v, WaitQuarantine, "an instance that Holdfast does not know runs on "+v.Quarantine+
			"; end it there (virsh destroy), and the VM is removed")
		return
	}
	c.also(v, DeleteVM{Key: key(v), UID: v.UID})
	delete(c.vms, v.UID)
	c.removed[v.UID] = true
	if c.names[key(v)] == v.UID {
		delete(c.names, key(v))
	}
	c.notice(v.Ref(), false, "Deleted", "the VM was removed; its disks were left alone")
}

// releaseRevisions lets go of specs from which no instance is built any more.
func (c *Core) releaseRevisions(v *fleet.VM) {
	before := v.Generation
	if in := v.Status.Instance; in != nil && in.Generation < before {
		before = in.Generation
	}
	if v.OldestRevision == 0 || v.OldestRevision >= before {
		return
	}
	c.also(v, ReleaseRevisions{Key: key(v), UID: v.UID, Before: before})
	v.OldestRevision = 0
	if before < v.Generation {
		v.OldestRevision = before
	}
}

// bind enters the instance into its host's ledger and the counts of starting ones.
func (c *Core) bind(v *fleet.VM) {
	in := v.Status.Instance
	if h := c.hosts[in.Host]; h != nil {
		h.Promise(in)
		h.Bound[v.UID] = v
	}
	c.setSlot(v)
}

// bindLeftovers lets each host know of the definitions of v that may be there.
func (c *Core) bindLeftovers(v *fleet.VM) {
	for _, name := range v.Status.Leftovers {
		if h := c.hosts[name]; h != nil {
			h.Bound[v.UID] = v
		}
	}
}

// setSlot counts the instance as starting, or no longer: in its host until it runs or is gone for certain, in the cluster only
// while its host can be reached.
func (c *Core) setSlot(v *fleet.VM) {
	in := v.Status.Instance
	var h *fleet.Host
	want := in != nil && in.Phase != v1.PhaseRunning
	if in != nil {
		h = c.hosts[in.Host]
	}
	wantCluster := want && h != nil && h.Status.State != v1.HostUnreachable
	if want != v.InSlot && h != nil {
		h.View.Starting += step(want)
		v.InSlot = want
	}
	if wantCluster != v.InClusterSlot {
		c.starting += step(wantCluster)
		v.InClusterSlot = wantCluster
	}
	if !want || !wantCluster {
		c.retry = true
	}
}

func step(up bool) int {
	if up {
		return 1
	}
	return -1
}

// end closes the instance: into the history, out of the ledger. gone: its absence on the host is certain.
func (c *Core) end(v *fleet.VM, phase v1.Phase, reason, message string, gone bool) {
	st := v.Mutable()
	in := st.Instance
	e := v1.End{Instance: in.ID, Host: in.Host, Phase: phase, Reason: reason, Message: message,
		CreatedAt: in.CreatedAt, RunningAt: in.RunningAt, EndedAt: c.now}
	if in.Abandon != nil && !in.Abandon.EndedAt.IsZero() {
		e.EndedAt = in.Abandon.EndedAt // it has been known since then
	}
	st.History = slices.Concat([]v1.End{e}, st.History)
	st.History = st.History[:min(len(st.History), keepHistory)]

	h := c.hosts[in.Host]
	if h != nil {
		h.Release(in)
		if v.InSlot {
			h.View.Starting--
			v.InSlot = false
		}
		if d := h.Domains[v.UID]; d != nil {
			d.Launched, d.AskAgain = false, time.Time{}
		}
	}
	st.Instance, v.Freed = nil, true
	c.setSlot(v)
	c.setLeftover(v, in.Host, !gone)
	c.notice(v.Ref(), phase == v1.PhaseFailed, reason, "instance "+in.ID+" on "+in.Host+" ended: "+message)
	c.retry = true
	c.touch(v) // what follows is decided anew

	asked := in.Stop != nil
	switch {
	case v.Strategy == v1.RunOnce && lifecycle.Ran(reason) && !(asked && in.RunningAt.IsZero() && (reason == lifecycle.EndAsRequested || lifecycle.OfHost(reason))):
		st.Run, st.Finished = nil, finished(e)
	case asked && in.Stop.Reason == v1.StopReasonDelete:
		st.Run = nil
	case asked:
	case v.Strategy == v1.RunManual:
		st.Run = nil
	case v.Strategy == v1.RunRerunOnFailure && phase == v1.PhaseSucceeded:
		st.Finished = finished(e)
	}
	switch {
	case asked:
	case lifecycle.Retries(v.Strategy, phase, reason) && !lifecycle.OfHost(reason) && c.policy.Counts(in, c.now):
		n := 1
		if st.CrashLoop != nil {
			n += st.CrashLoop.ConsecutiveFailures
		}
		st.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: n, LastFailure: e, RetryAt: c.now.Add(c.policy.Delay(v.UID, n))}
	default:
		st.CrashLoop = nil
	}
}
