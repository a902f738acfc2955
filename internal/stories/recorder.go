package stories

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
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
	sent    map[int64]time.Time // when the writes left that arrived late, by revision
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
		r.mu.Unlock()
	}
}

// log is everything so far, in order. Call it at an instant when nothing happens.
func (r *recorder) log() []invariant.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, e := range r.commits {
		if sent, late := r.sent[e.Rev]; late {
			r.commits[i].Fact = invariant.Commit{Changes: e.Fact.(invariant.Commit).Changes, Sent: sent}
		}
	}
	return invariant.Merge(r.commits, r.outside)
}

// late notes that a revision was made by a write that had left long before.
func (r *recorder) late(rev int64, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[rev] = sent
}

// definedLate reports whether the domain was defined, for the last time, after its VM had been removed.
func (r *recorder) definedLate(uid string) bool {
	late, removed, keys := false, false, map[string]string{}
	for _, e := range r.log() {
		switch f := e.Fact.(type) {
		case invariant.Commit:
			for _, ch := range f.Changes {
				var o struct{ Metadata v1.ObjectMeta }
				if ch.Deleted {
					removed = removed || keys[ch.Key] == uid
				} else if strings.HasPrefix(ch.Key, layout.Spec) && json.Unmarshal(ch.Value, &o) == nil {
					keys[ch.Key] = o.Metadata.UID
				}
			}
		case invariant.Domain:
			if f.UUID == uid && f.Op == "define" {
				late = removed
			}
		}
	}
	return late
}

// fate is what the hosts have shown of a VM's guests.
type fate struct {
	// ran: one was running. endedWell: the newest shut itself down, or somebody else ended it on its host, or so it seems: its host ended
	// it before it went down, while control planes died one after another.
	ran, endedWell bool
}

func (r *recorder) fate(uid string) (f fate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest, endedAt, deaths := "", time.Time{}, 0
	for _, e := range r.outside {
		if fault, ok := e.Fact.(invariant.Fault); ok && fault.Death && !endedAt.IsZero() && e.At.Sub(endedAt) < 2*time.Minute {
			deaths++
			f.endedWell = f.endedWell || deaths > 1
		}
		d, ok := e.Fact.(invariant.Domain)
		if !ok || d.UUID != uid {
			continue
		}
		if d.Op == "define" && nth(d.Instance) > nth(newest) { // an older one's may come late
			newest, endedAt, f.endedWell = d.Instance, time.Time{}, false
		}
		f.ran = f.ran || d.State == hypervisor.DomainRunning
		byOthers := d.By == invariant.ByOutsider || d.By == invariant.ByGuest && d.Why == hypervisor.WhyShutdown
		if d.State == hypervisor.DomainInactive && d.Instance == newest && byOthers {
			f.endedWell = true
		}
		if d.State == hypervisor.DomainInactive && d.Instance == newest && d.By == invariant.ByPower && d.Why != hypervisor.WhyUnknown {
			endedAt, deaths = e.At, 0
		}
	}
	return f
}

// nth is the number in an instance's id.
func nth(instance string) int {
	number, _, _ := strings.Cut(instance, "-")
	n, _ := strconv.Atoi(number)
	return n
}

// asked is at which revision each VM's newest spec and each action became durable, by uid.
func (r *recorder) asked() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := map[string]int64{}
	for _, e := range r.commits {
		for _, ch := range e.Fact.(invariant.Commit).Changes {
			var o struct{ Metadata v1.ObjectMeta }
			if strings.HasPrefix(ch.Key, layout.Spec) && json.Unmarshal(ch.Value, &o) == nil {
				at[o.Metadata.UID] = e.Rev
			}
		}
	}
	return at
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
