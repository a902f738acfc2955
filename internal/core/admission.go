package core

import (
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/placement"
	"github.com/holdfast-vm/holdfast/internal/core/startqueue"
)

// Why a VM that should run waits without an instance: v1.Waiting.Reason.
const (
	WaitStartLimit      = "StartLimit"
	WaitUnschedulable   = "Unschedulable"
	WaitBackOff         = "CrashLoopBackOff"
	WaitQuarantine      = "Quarantined"
	WaitHostUnreachable = "HostUnreachable"
)

// enqueue puts the VM into the start queue; it may start in this very Step.
func (c *Core) enqueue(v *fleet.VM) {
	v.Refine()
	if c.queue.Put(v.UID, v.Class()) && !v.Fresh {
		v.Fresh = true
		c.fresh = append(c.fresh, v)
		c.retry = true
	}
}

// admit starts waiting VMs by arrival, as far as limits and room allow, and tells the others why they wait.
func (c *Core) admit() {
	if c.queue.Len() == 0 {
		return
	}
	c.queue.Try(func(uid string) startqueue.Verdict {
		v := c.vms[uid]
		if c.starting >= c.config.StartLimit.Cluster {
			return startqueue.AllBlocked
		}
		if h := placement.Choose(&v.Need, c.views); h != nil {
			v.Fresh = false
			c.launch(v, c.hosts[h.Name])
			return startqueue.Started
		}
		c.labelClass(v.Class(), whyRefused(placement.Explain(&v.Need, c.views)))
		return startqueue.ClassBlocked
	})
}

// why is what a waiting VM is told.
type why struct{ reason, kinds, message string }

// label is the same as long as the story is; a message is kept although its figures change, because a write for each waiting VM and
// each change is what a storm is made of.
func (w why) label() string { return w.reason + "/" + w.kinds }

func whyRefused(r placement.Refusal) why {
	if r.Busy {
		return why{WaitStartLimit, r.Kinds, r.Message}
	}
	return why{WaitUnschedulable, r.Kinds, r.Message}
}

// tell gives a waiting VM its reason.
func (c *Core) tell(v *fleet.VM, w why) {
	v.Label = w.label()
	c.setWaiting(v, w.reason, w.message)
	c.commit(v)
}

// labelClass tells every waiting VM of the class why, once per story.
func (c *Core) labelClass(class string, w why) {
	if c.labelled[class] == w.label() {
		return
	}
	c.labelled[class] = w.label()
	for _, uid := range c.queue.Class(class) {
		if v := c.vms[uid]; !v.Fresh && v.Label != w.label() {
			c.tell(v, w)
		}
	}
}

// labelFresh gives those that were queued in this Step and did not start their reason.
func (c *Core) labelFresh() {
	fresh := c.fresh
	c.fresh = nil
	for _, v := range fresh {
		v.Fresh = false
		if !c.queue.Has(v.UID) || c.vms[v.UID] != v {
			continue
		}
		w := why{WaitStartLimit, "Cluster", fmt.Sprintf("as many VMs are starting as may at once (%d); it starts when its turn comes",
			c.config.StartLimit.Cluster)}
		if c.starting < c.config.StartLimit.Cluster {
			w = whyRefused(placement.Explain(&v.Need, c.views))
		}
		c.tell(v, w)
		if c.labelled[v.Class()] != v.Label {
			delete(c.labelled, v.Class()) // not all of the class carry one label any more
		}
	}
}

// setWaiting says why the VM waits; an empty reason: it does not.
func (c *Core) setWaiting(v *fleet.VM, reason, message string) {
	have := v.Status.Waiting
	switch {
	case reason == "" && have == nil:
	case reason == "":
		v.Mutable().Waiting = nil
	case have == nil || have.Reason != reason:
		v.Mutable().Waiting = &v1.Waiting{Reason: reason, Message: message, Since: c.now}
	case have.Message != message:
		v.Mutable().Waiting = &v1.Waiting{Reason: reason, Message: message, Since: have.Since}
	}
}

func backOffMessage(cl *v1.CrashLoop) string {
	times := "once"
	if cl.ConsecutiveFailures > 1 {
		times = fmt.Sprintf("%d times in a row", cl.ConsecutiveFailures)
	}
	return fmt.Sprintf("it failed %s, the last time with %s (%s); the next try is at %s",
		times, cl.LastFailure.Reason, cl.LastFailure.Message, cl.RetryAt.UTC().Format(time.RFC3339))
}
