package stories

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-vm/holdfast/internal/engine"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// Plane is one process of the control plane, from its start until it is killed.
type Plane struct {
	w      *World
	name   string
	view   *memory.Handle
	proc   *sim.Process
	cancel context.CancelFunc
	dead   bool // under w.mu
}

// Moment is when a control plane may be killed.
type Moment string

// The moments. A call is one that changes something on a host.
const (
	AnyTime     Moment = "any time"
	BeforeWrite Moment = "before a write"
	AfterWrite  Moment = "after a write"
	LateWrite   Moment = "at a write that arrives later"
	BeforeCall  Moment = "before a call"
	AfterCall   Moment = "after a call"
)

// trap kills the control plane that comes to its n-th such moment from now, and starts another one after pause.
type trap struct {
	at    Moment
	n     int
	pause time.Duration
	// late is when a LateWrite arrives.
	late time.Duration
}

// Boot starts a control plane.
func (w *World) Boot() *Plane {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil
	}
	w.booted++
	p := &Plane{w: w, name: fmt.Sprintf("p%d", w.booted)}
	p.view = w.Store.View(memory.Faults{Txn: p.onWrite, Latency: w.setting.Write, Landed: p.landed})
	p.proc = w.Fleet.Process(p.name)
	p.proc.Moment = p.onCall
	ctx, cancel := context.WithCancel(w.ctx)
	p.cancel = cancel
	e := engine.New(engine.Options{
		Store: p.view, Driver: p.proc, Name: p.name, ObjectsPerTxn: w.setting.Batch, Log: w.setting.Log.With("plane", p.name),
	})
	w.all.Go(func() { _ = e.Run(ctx) }) // it ends without an error when ctx does
	w.planes = append(w.planes, p)
	w.steady = time.Now()
	return p
}

// Leader is the control plane that has been up longest; nil when none is.
func (w *World) Leader() *Plane {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.planes) == 0 {
		return nil
	}
	return w.planes[0]
}

// Kill ends the process as kill -9 does.
func (p *Plane) Kill(why string) {
	if p.dies(why) {
		p.view.Kill()
		p.proc.Kill()
		p.cancel()
	}
}

// Isolate cuts the process off from the store, and from nothing else: a leader that cannot know that it is one no longer. Another
// process is started at once; this one is killed after a while.
func (p *Plane) Isolate(lives time.Duration) {
	p.view.Kill()
	p.w.rec.add(invariant.Fault{What: "isolated " + p.name, Death: true})
	p.w.mu.Lock()
	p.w.steady = time.Now()
	p.w.mu.Unlock()
	p.w.Boot()
	time.AfterFunc(lives, func() { p.Kill("after isolation") })
}

// dies takes the process out of the world's books; false when it was dead already.
func (p *Plane) dies(why string) bool {
	w := p.w
	w.mu.Lock()
	if p.dead || w.over {
		w.mu.Unlock()
		return false
	}
	p.dead = true
	w.kills++
	w.steady = time.Now()
	w.planes = slices.DeleteFunc(w.planes, func(o *Plane) bool { return o == p })
	w.mu.Unlock()
	w.rec.add(invariant.Fault{What: "killed " + p.name + " " + why, Death: true})
	return true
}

// Replace starts a control plane after a pause.
func (w *World) Replace(pause time.Duration) {
	time.AfterFunc(pause, func() { w.Boot() })
}

// Arm sets a trap. One that nobody has walked into after half a minute kills the leader then.
func (w *World) Arm(t trap) {
	w.mu.Lock()
	w.armed = &t
	mine := w.armed
	w.mu.Unlock()
	if t.at == AnyTime {
		w.spring(mine, "at some time")
		return
	}
	time.AfterFunc(30*time.Second, func() { w.spring(mine, "after waiting for the moment "+string(t.at)) })
}

// spring kills the leader by a trap that is still set.
func (w *World) spring(t *trap, why string) {
	w.mu.Lock()
	mine := w.armed == t
	if mine {
		w.armed = nil
	}
	w.mu.Unlock()
	p := w.Leader()
	if mine && p != nil {
		p.Kill(why)
		w.Replace(t.pause)
	}
}

// caught is the trap that the process has walked into; nil: none.
func (p *Plane) caught(at Moment) *trap {
	w := p.w
	w.mu.Lock()
	t := w.armed
	if t == nil || t.at != at || p.dead {
		w.mu.Unlock()
		return nil
	}
	t.n--
	if t.n > 0 {
		w.mu.Unlock()
		return nil
	}
	w.armed = nil
	w.mu.Unlock()
	w.Replace(t.pause)
	return t
}

// onWrite is asked before each write of the process.
func (p *Plane) onWrite(txn store.Txn) memory.Fault {
	if p.caught(BeforeWrite) != nil {
		p.Kill(string(BeforeWrite))
		return memory.Fault{Drop: true, Kill: true}
	}
	if t := p.caught(LateWrite); t != nil {
		p.Kill(string(LateWrite))
		sent := time.Now()
		time.AfterFunc(t.late, func() {
			rev, err := p.w.Store.Txn(p.w.ctx, txn)
			p.w.rec.late(rev, sent)
			p.w.fault("", fmt.Sprintf("a late write of %s arrives (%v)", p.name, err))
		})
		return memory.Fault{Drop: true, Kill: true}
	}
	if p.caught(AfterWrite) != nil && p.dies(string(AfterWrite)) {
		// No call may leave any more, and the write lands all the same.
		p.proc.Kill()
		time.AfterFunc(p.w.setting.Write+time.Millisecond, p.cancel)
		return memory.Fault{Kill: true}
	}
	return memory.Fault{}
}

// landed: of the writes that are under way when the process dies, every other one has happened.
func (p *Plane) landed(t store.Txn) bool { return len(t.Put)%2 == 0 }

func (p *Plane) onCall(left bool, c sim.Call) {
	at := BeforeCall
	if left {
		at = AfterCall
	}
	if p.caught(at) != nil {
		p.Kill(string(at) + " (" + c.Op + ")")
	}
}
