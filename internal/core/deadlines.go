package core

import (
	"container/heap"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
)

// deadlines is a heap of moments. Entries are never removed early: one whose VM has another deadline by now is skipped.
type deadlines struct{ entries []deadline }

type deadline struct {
	at     time.Time
	vm     *fleet.VM
	action *v1.Action
}

func (d *deadlines) Len() int           { return len(d.entries) }
func (d *deadlines) Less(i, j int) bool { return d.entries[i].at.Before(d.entries[j].at) }
func (d *deadlines) Swap(i, j int)      { d.entries[i], d.entries[j] = d.entries[j], d.entries[i] }
func (d *deadlines) Push(x any)         { d.entries = append(d.entries, x.(deadline)) }
func (d *deadlines) Pop() any {
	last := d.entries[len(d.entries)-1]
	d.entries = d.entries[:len(d.entries)-1]
	return last
}

func (e deadline) stale() bool { return e.vm != nil && !e.vm.Deadline.Equal(e.at) }

func (d *deadlines) next() (time.Time, bool) {
	for len(d.entries) > 0 && d.entries[0].stale() {
		if e := heap.Pop(d).(deadline); e.vm.Scheduled.Equal(e.at) {
			e.vm.Scheduled = time.Time{} // should it become the deadline again, it must be entered again
		}
	}
	if len(d.entries) == 0 {
		return time.Time{}, false
	}
	return d.entries[0].at, true
}

// due touches each VM whose deadline has come and expires actions.
func (c *Core) due() {
	if !c.loaded {
		return
	}
	for {
		at, ok := c.deadlines.next()
		if !ok || at.After(c.now) {
			return
		}
		e := heap.Pop(&c.deadlines).(deadline)
		if e.vm != nil {
			e.vm.Deadline, e.vm.Scheduled = time.Time{}, time.Time{}
			c.touch(e.vm)
		} else {
			c.expire(e.action)
		}
	}
}

// until makes v's deadline at most at.
func until(v *fleet.VM, at time.Time) {
	if v.Deadline.IsZero() || at.Before(v.Deadline) {
		v.Deadline = at
	}
}

// schedule enters the deadline that deciding has left on v.
func (c *Core) schedule(v *fleet.VM) {
	if !v.Deadline.IsZero() && !v.Deadline.Equal(v.Scheduled) && c.vms[v.UID] == v {
		v.Scheduled = v.Deadline
		heap.Push(&c.deadlines, deadline{at: v.Deadline, vm: v})
	}
}
