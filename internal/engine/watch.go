package engine

import (
	"context"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// sighting is what one revision of the store changed, or a part of that, with what the values decode to.
type sighting struct {
	store.Batch
	// objects and errs go with Changes; nil for what was deleted, and where nothing failed.
	objects []any
	errs    []error
}

// decodeAhead decodes what the watch reports, beside the loop: seeing a VM costs more than deciding about it.
func (t *term) decodeAhead(ctx context.Context, watch <-chan store.Batch) <-chan sighting {
	out := make(chan sighting, 4)
	t.group.Go(func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case b, ok := <-watch:
				if !ok {
					return
				}
				for more := true; more; more = len(b.Changes) > 0 {
					s := decodeSome(b)
					b.Changes = b.Changes[len(s.Changes):]
					select {
					case <-ctx.Done():
						return
					case out <- s:
					}
				}
			}
		}
	})
	return out
}

// changesAtOnce is how many changes a sighting has at most: the loop does other things in between, however large a user's
// transaction was.
const changesAtOnce = 128

// decodeSome decodes the first changes of b.
func decodeSome(b store.Batch) sighting {
	b.Changes = b.Changes[:min(len(b.Changes), changesAtOnce)]
	s := sighting{Batch: b, objects: make([]any, len(b.Changes)), errs: make([]error, len(b.Changes))}
	for i, c := range b.Changes {
		if !c.Deleted {
			s.objects[i], s.errs[i] = decode(c.KV, nil)
		}
	}
	return s
}

// decode makes the object of a spec and its status, which may be nil; a nil object is of no interest.
func decode(spec store.KV, status *store.KV) (any, error) {
	switch kind, _ := splitSpecKey(spec.Key); kind {
	case layout.Config:
		return layout.DecodeConfig(spec)
	case layout.Host:
		return layout.DecodeHost(spec, status)
	case layout.VM:
		vm, err := layout.DecodeVM(spec, status)
		if err == nil {
			v1.SetDefaults(vm) // it may be from a version that had fewer
		}
		return vm, err
	case layout.Action:
		return layout.DecodeAction(spec, status)
	}
	return nil, nil
}

// observe tells the core what one revision of the store changed.
func (t *term) observe(s sighting) error {
	if s.Err != nil {
		return fmt.Errorf("watch %s: %w", layout.Spec, s.Err)
	}
	for i, c := range s.Changes {
		if !c.Deleted {
			t.see(c.KV, s.objects[i], s.errs[i], nil)
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

// see tells the core about one object, new or changed, unless it cannot be read (err): that is as good as none, and what runs of a
// VM like that is left alone. While loading, kept are the older generations of VMs by uid.
func (t *term) see(kv store.KV, object any, err error, kept map[string][]int64) {
	if err != nil {
		t.unreadable = true
		t.o.Log.Error("object cannot be read and is left out", "key", kv.Key, "err", err)
		return
	}
	_, id := splitSpecKey(kv.Key)
	switch o := object.(type) {
	case *v1.ClusterConfig:
		t.book.clusterUID = o.Metadata.UID
		t.step(core.ConfigChanged{Config: o})
	case *v1.Host:
		t.book.hosts[id.Name] = hostEntry{uid: o.Metadata.UID, uri: o.Spec.URI}
		t.step(core.HostChanged{Host: o})
		t.hosts.set(id.Name, o.Metadata.UID, o.Spec.URI)
	case *v1.VirtualMachine:
		e, edited := t.book.putVM(kv, o)
		if old := kept[e.uid]; len(old) > 0 {
			e.kept, edited = old, true
		}
		t.step(core.VMChanged{VM: o})
		if edited {
			t.step(core.VMOldRevisions{Key: id, Oldest: e.kept[0]})
		}
	case *v1.Action:
		t.book.actions[id] = o.Metadata.UID
		t.step(core.ActionPosted{Action: o})
	}
}
