package registry

import (
	"context"
	"fmt"
	"strconv"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// get reads one object with its status, and the key of its spec.
func (r *Registry) get(ctx context.Context, k *kind, namespace, name string) (v1.Object, store.KV, error) {
	ref := k.ref(namespace, name)
	id := k.id(ref.Namespace, name)
	found, err := r.lookUp(ctx, k.keys(id))
	if err != nil {
		return nil, store.KV{}, fmt.Errorf("read %s: %w", ref, err)
	}
	return k.joined(id, found)
}

// lookUp reads keys at one revision and returns those that exist.
func (r *Registry) lookUp(ctx context.Context, keys []string) (map[string]store.KV, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	kvs, _, err := r.st.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	return existing(kvs), nil
}

// existing are those of the keys that exist, by name.
func existing(kvs []store.KV) map[string]store.KV {
	found := make(map[string]store.KV, len(kvs))
	for _, kv := range kvs {
		if kv.ModRevision != 0 {
			found[kv.Key] = kv
		}
	}
	return found
}

// keys are the keys of an object, or the prefixes of those of a namespace.
func (k *kind) keys(id string) []string {
	if k.statuses == "" {
		return []string{k.specs + id}
	}
	return []string{k.specs + id, k.statuses + id}
}

// joined is an object, or a NotFoundError, by what was found of its keys, and the key of its spec.
func (k *kind) joined(id string, found map[string]store.KV) (v1.Object, store.KV, error) {
	spec, ok := found[k.specs+id]
	if !ok {
		return nil, store.KV{Key: k.specs + id}, &NotFoundError{Ref: k.refOf(id)}
	}
	var status *store.KV
	if kv, ok := found[k.statuses+id]; ok && k.statuses != "" {
		status = &kv
	}
	o, err := k.decode(spec, status)
	return o, spec, err
}

// Scope says which objects of a kind are meant: those of a namespace, those of a name. What is empty excludes nothing.
type Scope struct{ Namespace, Name string }

// snapshot is objects of one kind as keys, by id, all as of revision at.
type snapshot struct {
	// ids in ascending order.
	ids             []string
	specs, statuses map[string]store.KV
	at              int64
}

func (r *Registry) snapshot(ctx context.Context, k *kind, scope Scope) (*snapshot, error) {
	kvs, at, err := r.keysOf(ctx, k, scope)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.name, err)
	}
	s := &snapshot{specs: map[string]store.KV{}, statuses: map[string]store.KV{}, at: at}
	for _, kv := range kvs {
		id, isSpec := k.parse(kv.Key)
		switch {
		case kv.ModRevision == 0 || !k.includes(scope, id):
		case isSpec:
			s.ids = append(s.ids, id)
			s.specs[id] = kv
		default:
			s.statuses[id] = kv
		}
	}
	return s, nil
}

// keysOf reads at least the keys of the objects in scope. One object is not searched for among all.
func (r *Registry) keysOf(ctx context.Context, k *kind, scope Scope) ([]store.KV, int64, error) {
	read, what := r.list, k.within(scope.Namespace)
	if scope.Name != "" && (scope.Namespace != "" || !k.namespaced) {
		read, what = r.st.GetAll, k.id(scope.Namespace, scope.Name)
	}
	keys := []string{k.specs + what}
	if k.statuses != "" {
		keys = append(keys, k.statuses+what)
	}
	return read(ctx, keys)
}

func (r *Registry) list(ctx context.Context, prefixes []string) ([]store.KV, int64, error) {
	return r.st.List(ctx, prefixes...)
}

// join is the object with an id.
func (s *snapshot) join(k *kind, id string) (v1.Object, error) {
	if status, ok := s.statuses[id]; ok {
		return k.decode(s.specs[id], &status)
	}
	return k.decode(s.specs[id], nil)
}

// List reads the objects of one kind, sorted by namespace and name; the string is the resourceVersion from which a watch misses
// nothing. An object that does not exist is not in the list, which is no error.
func List[O v1.Object](ctx context.Context, r *Registry, scope Scope) ([]O, string, error) {
	var kindOnly O
	k := kindOf(kindOnly)
	s, err := r.snapshot(ctx, k, scope)
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
	return objects, strconv.FormatInt(s.at, 10), nil
}
