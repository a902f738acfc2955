package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// load tells the core everything that the store has, as of the one revision that it returns.
func (t *term) load(ctx context.Context) (revision int64, err error) {
	kvs, revision, err := t.o.Store.List(ctx, layout.Root)
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", layout.Root, err)
	}
	statuses := map[string]*store.KV{}
	kept := map[string][]int64{}
	specs := map[string][]store.KV{} // by kind, in the order of their keys
	for i, kv := range kvs {
		switch {
		case strings.HasPrefix(kv.Key, layout.Spec):
			kind, _ := splitSpecKey(kv.Key)
			specs[kind] = append(specs[kind], kv)
		case strings.HasPrefix(kv.Key, layout.Status):
			statuses[strings.TrimPrefix(kv.Key, layout.Status)] = &kvs[i]
		case strings.HasPrefix(kv.Key, layout.Revision):
			if uid, generation, ok := layout.ParseRevisionKey(kv.Key); ok {
				kept[uid] = append(kept[uid], generation) // ascending, as their keys are
			}
		case strings.HasPrefix(kv.Key, layout.Event):
			if err := t.news.load(kv); err != nil {
				t.o.Log.Error("event cannot be read and is left out", "key", kv.Key, "err", err)
			}
		}
	}
	if len(specs[layout.Config]) == 0 {
		return 0, errors.New("the store has no cluster configuration yet; it is made when the server first starts")
	}
	statusOf := func(spec store.KV) *store.KV { return statuses[strings.TrimPrefix(spec.Key, layout.Spec)] }
	for _, kind := range []string{layout.Config, layout.Host, layout.VM, layout.Action} {
		for _, kv := range specs[kind] {
			obj, err := decode(kv, statusOf(kv))
			t.see(kv, obj, err, kept)
		}
	}
	t.news.loaded()
	if !t.unreadable {
		t.dropOrphans(statuses, kept)
	}
	t.step(core.Loaded{Grace: v1.Duration(t.lease.TTL() + t.o.CallDeadline)})
	return revision, nil
}

// dropOrphans queues the removal of what belongs to nothing any more: specs kept for VMs that are gone (a crash came between the
// parts of a large removal), and statuses of hosts that were removed while nobody led. While an object cannot be read nobody
// knows what belongs to it.
func (t *term) dropOrphans(statuses map[string]*store.KV, kept map[string][]int64) {
	var keys []string
	for _, e := range t.book.vms {
		delete(kept, e.uid)
	}
	for uid, generations := range kept {
		for _, g := range generations {
			keys = append(keys, layout.RevisionKey(uid, g))
		}
	}
	for rest, kv := range statuses {
		if name, isHost := strings.CutPrefix(rest, layout.Host+"/"); isHost {
			if _, known := t.book.hosts[name]; !known {
				keys = append(keys, kv.Key)
			}
		}
	}
	slices.Sort(keys)
	for chunk := range slices.Chunk(keys, t.o.ObjectsPerTxn) {
		t.queue = append(t.queue, unit{remove: chunk})
	}
}
