package memory

import (
	"bytes"
	"slices"
	"strings"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// The methods here want d.mu held. Values in keys and history are never changed in place; they are copied on their way in and out.

// commit does the transaction, unless a condition is false.
func (d *data) commit(t store.Txn) (int64, error) {
	for _, c := range t.If {
		if !c.Holds(d.keys[c.Key]) {
			return 0, store.ErrConflict
		}
	}
	b := store.Batch{Revision: d.revision + 1}
	for _, kv := range t.Put {
		n := store.KV{Key: kv.Key, Value: copied(kv.Value), CreateRevision: b.Revision, ModRevision: b.Revision}
		if old, ok := d.keys[kv.Key]; ok {
			n.CreateRevision = old.CreateRevision
		}
		d.keys[kv.Key] = n
		b.Changes = append(b.Changes, store.Change{KV: n})
	}
	for _, key := range t.Delete {
		if _, ok := d.keys[key]; !ok {
			continue
		}
		delete(d.keys, key)
		b.Changes = append(b.Changes, store.Change{KV: store.KV{Key: key, ModRevision: b.Revision}, Deleted: true})
	}
	if len(b.Changes) == 0 {
		return d.revision, nil
	}
	d.revision = b.Revision
	d.history = append(d.history, b)
	close(d.changed)
	d.changed = make(chan struct{})
	d.settleElection()
	return b.Revision, nil
}

func (d *data) get(key string) store.KV {
	kv, ok := d.keys[key]
	if !ok {
		return store.KV{Key: key}
	}
	kv.Value = copied(kv.Value)
	return kv
}

func (d *data) list(prefix string) []store.KV {
	var out []store.KV
	for key, kv := range d.keys {
		if strings.HasPrefix(key, prefix) {
			kv.Value = copied(kv.Value)
			out = append(out, kv)
		}
	}
	slices.SortFunc(out, func(a, b store.KV) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (d *data) compact(revision int64) {
	d.compacted = max(d.compacted, min(revision, d.revision))
	keep := d.compacted + 1
	for w := range d.watches {
		keep = min(keep, w.next)
	}
	if n := keep - d.history[0].Revision; n > 0 && n < int64(len(d.history)) {
		d.history = slices.Clone(d.history[n:])
	}
}

// copied is a copy of its own; a value of no bytes is nil, as etcd returns it.
func copied(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
