package registry

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// get reads one object with its status, and the key of its spec.
func (r *Registry) get(ctx context.Context, k *kind, namespace, name string) (v1.Object, store.KV, error) {
	ref := k.ref(namespace, name)
	id := k.id(ref.Namespace, name)
	spec, err := r.st.Get(ctx, k.specs+id)
	if err != nil {
		return nil, store.KV{}, fmt.Errorf("read %s: %w", ref, err)
	}
	if spec.ModRevision == 0 {
		return nil, store.KV{}, &NotFoundError{Ref: ref}
	}
	var status *store.KV
	if k.statuses != "" {
		kv, err := r.st.Get(ctx, k.statuses+id)
		if err != nil {
			return nil, store.KV{}, fmt.Errorf("read the status of %s: %w", ref, err)
		}
		if kv.ModRevision != 0 {
			status = &kv
		}
	}
	o, err := k.decode(spec, status)
	return o, spec, err
}

// snapshot is all objects of a kind as keys, by id. Specs are as of revision specsAt, statuses as of statusesAt, which is the same
// or later.
type snapshot struct {
	// ids in ascending order.
	ids                 []string
	specs, statuses     map[string]store.KV
	specsAt, statusesAt int64
}

func (r *Registry) snapshot(ctx context.Context, k *kind, namespace string) (*snapshot, error) {
	s := &snapshot{specs: map[string]store.KV{}, statuses: map[string]store.KV{}}
	specs, at, err := r.st.List(ctx, k.specs+k.within(namespace))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.name, err)
	}
	for _, kv := range specs {
		id := strings.TrimPrefix(kv.Key, k.specs)
		s.ids = append(s.ids, id)
		s.specs[id] = kv
	}
	s.specsAt, s.statusesAt = at, at
	if k.statuses == "" {
		return s, nil
	}
	statuses, at, err := r.st.List(ctx, k.statuses+k.within(namespace))
	if err != nil {
		return nil, fmt.Errorf("list the statuses of %s: %w", k.name, err)
	}
	for _, kv := range statuses {
		s.statuses[strings.TrimPrefix(kv.Key, k.statuses)] = kv
	}
	s.statusesAt = at
	return s, nil
}

// join is the object with an id.
func (s *snapshot) join(k *kind, id string) (v1.Object, error) {
	if status, ok := s.statuses[id]; ok {
		return k.decode(s.specs[id], &status)
	}
	return k.decode(s.specs[id], nil)
}

// list reads all objects of a kind, sorted by namespace and name, and the resourceVersion from which a watch misses nothing.
func list[O v1.Object](ctx context.Context, r *Registry, k *kind, namespace string) ([]O, string, error) {
	s, err := r.snapshot(ctx, k, namespace)
	if err != nil {
		return nil, "", err
	}
	objects := make([]O, 0, len(s.ids))
	for _, id := range s.ids {
		o, err := s.join(k, id)
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, o.(O))
	}
	return objects, strconv.FormatInt(s.specsAt, 10), nil
}
