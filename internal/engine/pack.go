package engine

import (
	"slices"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// batch is what one transaction writes: consecutive decisions, each whole.
type batch struct {
	// changes in the order of their first writing; at says where a key's is.
	changes []change
	at      map[string]int
	// bytes of the values that were added.
	bytes int
	ifs   []store.Cond
	drops []drop
	// orders leave when the batch is durable.
	orders []order
}

// maxBatchBytes is when a batch is full, whatever the number of its keys: far below what a store takes (store.MaxTxnBytes).
const maxBatchBytes = 1 << 20

// change puts a value, or removes the key.
type change struct {
	entry
	remove bool
}

// pack takes decisions from the head of the queue until the next one would not fit. It takes at least one.
func (t *term) pack() *batch {
	b := &batch{at: map[string]int{}}
	for len(t.queue) > 0 {
		u := &t.queue[0]
		if u.parts == nil {
			u.parts = t.split(*u)
		}
		for len(u.parts) > 0 {
			if !b.add(u.parts[0], t.o.ObjectsPerTxn) {
				return b
			}
			u.parts = u.parts[1:]
		}
		t.queue[0] = unit{}
		t.queue = t.queue[1:]
	}
	return b
}

// add adds a part unless the batch, which has something already, would grow beyond limit keys or maxBatchBytes. A later change of a key takes the
// place of an earlier one: nobody sees what lies between.
func (b *batch) add(p *part, limit int) bool {
	grown, bytes := len(b.changes), b.bytes
	for _, e := range p.puts {
		bytes += len(e.value)
		if _, known := b.at[e.key]; !known {
			grown++
		}
	}
	for _, key := range p.deletes {
		if _, known := b.at[key]; !known {
			grown++
		}
	}
	if (grown > limit || bytes > maxBatchBytes) && len(b.changes) > 0 {
		return false
	}
	b.bytes = bytes
	for _, e := range p.puts {
		b.set(change{entry: e})
	}
	for _, key := range p.deletes {
		b.set(change{entry: entry{key: key}, remove: true})
	}
	for _, c := range p.ifs {
		if !slices.Contains(b.ifs, c) {
			b.ifs = append(b.ifs, c)
		}
	}
	b.drops = append(b.drops, p.drops...)
	b.orders = append(b.orders, p.orders...)
	return true
}

func (b *batch) set(c change) {
	if i, known := b.at[c.key]; known {
		b.changes[i] = c
		return
	}
	b.at[c.key] = len(b.changes)
	b.changes = append(b.changes, c)
}
