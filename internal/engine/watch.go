package engine

import (
	"fmt"

	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// observe tells the core what one revision of the store changed.
func (t *term) observe(b store.Batch) error {
	if b.Err != nil {
		return fmt.Errorf("watch %s: %w", layout.Spec, b.Err)
	}
	for _, c := range b.Changes {
		if !c.Deleted {
			t.see(c.KV, nil, nil)
			continue
		}
		kind, id := splitSpecKey(c.Key)
		switch kind {
		case layout.VM:
			// Our own removals left the book when they were written.
			if _, known := t.book.vms[id]; known {
				return fmt.Errorf("somebody else removed %s from the store", c.Key)
			}
		case layout.Host:
			delete(t.book.hosts, id.Name)
			t.hosts.remove(id.Name)
			t.queue = append(t.queue, unit{remove: []string{layout.HostStatusKey(id.Name)}})
			t.step(core.HostRemoved{Name: id.Name})
		}
	}
	return nil
}

// see tells the core about one object, new or changed. While loading, status is its status, and kept are the older generations
// of VMs by uid. An object that cannot be read is as good as none: what runs of a VM like that is left alone.
func (t *term) see(kv store.KV, status *store.KV, kept map[string][]int64) {
	kind, id := splitSpecKey(kv.Key)
	var err error
	switch kind {
	case layout.Config:
		c, derr := layout.DecodeConfig(kv)
		if err = derr; err == nil {
			t.book.clusterUID = c.Metadata.UID
			t.step(core.ConfigChanged{Config: c})
		}
	case layout.Host:
		h, derr := layout.DecodeHost(kv, status)
		if err = derr; err == nil {
			t.book.hosts[id.Name] = hostEntry{uid: h.Metadata.UID, uri: h.Spec.URI}
			t.step(core.HostChanged{Host: h})
			t.hosts.set(id.Name, h.Metadata.UID, h.Spec.URI)
		}
	case layout.VM:
		vm, derr := layout.DecodeVM(kv, status)
		if err = derr; err == nil {
			edited := t.book.putVM(kv, vm)
			e := t.book.vms[id]
			if old := kept[e.uid]; len(old) > 0 {
				e.kept, edited = old, true
			}
			t.step(core.VMChanged{VM: vm})
			if edited {
				t.step(core.VMOldRevisions{Key: id, Oldest: e.kept[0]})
			}
		}
	case layout.Action:
		a, derr := layout.DecodeAction(kv, status)
		if err = derr; err == nil {
			t.book.actions[id] = a.Metadata.UID
			t.step(core.ActionPosted{Action: a})
		}
	}
	if err != nil {
		t.unreadable = true
		t.o.Log.Error("object cannot be read and is left out", "key", kv.Key, "err", err)
	}
}
