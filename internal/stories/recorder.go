package stories

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// recorder writes the log that the checks judge: one half from the store's watch, the other from whoever sees something happen.
type recorder struct {
	store *memory.Store

	mu      sync.Mutex
	outside []invariant.Entry
	commits []invariant.Entry
	seen    int64 // the newest revision in commits
}

// add logs a fact that happens now, with the store's revision: what is durable at this moment is what came before it.
func (r *recorder) add(f invariant.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outside = append(r.outside, invariant.Entry{At: time.Now(), Rev: r.revision(), Fact: f})
}

func (r *recorder) revision() int64 {
	_, rev, err := r.store.List(context.Background(), "no such key")
	if err != nil {
		panic("stories: " + err.Error()) // the store in memory fails only when it is closed
	}
	return rev
}

// follow logs every revision of the store until ctx ends.
func (r *recorder) follow(ctx context.Context) {
	for b := range r.store.Watch(ctx, layout.Root, 1) {
		if b.Err != nil {
			return
		}
		r.mu.Lock()
		r.commits = append(r.commits, invariant.Entry{At: time.Now(), Rev: b.Revision, Fact: invariant.Commit{Changes: b.Changes}})
		r.seen = b.Revision
		r.mu.Unlock()
	}
}

// log is everything so far, in order. Call it at an instant when nothing happens.
func (r *recorder) log() []invariant.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return invariant.Merge(r.commits, r.outside)
}

// changed and called are what simulated hosts tell.
func (r *recorder) changed(c sim.Change) {
	r.add(invariant.Domain{
		Host: c.Host, UUID: c.UUID, Instance: c.Instance, State: c.State, Why: c.Why, Memory: c.Memory, VCPUs: c.VCPUs,
		By: invariant.Cause(c.Cause), Op: c.Op,
	})
}

func (r *recorder) called(c sim.Call) {
	r.add(invariant.Call{Host: c.Host, Op: c.Op, UUID: c.UUID, Instance: c.Instance, Process: c.Process})
}
