package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// The types of a WatchEvent.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	// Bookmark carries no object: it ends the current objects that a watch begins with.
	Bookmark = "BOOKMARK"
)

// WatchEvent is one change of an object, or the end of a watch.
type WatchEvent struct {
	// Type is Added, Modified, Deleted or Bookmark; empty with Err.
	Type string
	// Object is the whole object, spec and status joined. A deleted one is as it was last seen; when the watch has not seen it
	// before, it has no more than its name.
	Object v1.Object
	// ResourceVersion of the revision that changed the object. A revision may change several objects: whoever has seen only some
	// of its events resumes from the version before it.
	ResourceVersion string
	// Err ends the watch: ErrExpired, or what the store says. The channel is closed after it.
	Err error
}

// Watch reports changes of one kind's objects until ctx ends, then the channel is closed. With an empty from it begins with all
// current objects as Added and a Bookmark; else it reports what changed after that resourceVersion. Nothing in between is missed.
// Several changes may come as one, and the last one of them may come twice.
func (r *Registry) Watch(ctx context.Context, kindName string, scope Scope, from string) (<-chan WatchEvent, error) {
	k, ok := kinds[kindName]
	if !ok {
		return nil, invalid(v1.ObjectRef{Kind: kindName}, "kind", fmt.Sprintf("%q cannot be watched", kindName),
			"watch VirtualMachine, Host, ClusterConfig, Action or Event")
	}
	var after int64
	if from != "" {
		n, err := strconv.ParseInt(from, 10, 64)
		if err != nil || n <= 0 {
			return nil, invalid(v1.ObjectRef{Kind: kindName}, "resourceVersion", fmt.Sprintf("%q is not a resourceVersion", from),
				"take it from a list or from the last event of a watch, or leave it out to begin with the current objects")
		}
		after = n
	}
	snap, err := r.snapshot(ctx, k, scope)
	if err != nil {
		return nil, err
	}
	if after > snap.at {
		return nil, ErrExpired
	}
	w := &watcher{k: k, scope: scope, snap: snap, out: make(chan WatchEvent), known: map[string]bool{}, passed: map[string]store.KV{}}
	prefix := layout.Root
	if k.statuses == "" {
		prefix = k.specs
	}
	w.after = after
	if from == "" {
		w.after = snap.at
	}
	for id, kv := range snap.specs {
		w.known[id] = kv.CreateRevision <= w.after
	}
	go func() {
		defer close(w.out)
		w.run(ctx, from == "", func(watchCtx context.Context) <-chan store.Batch { return r.st.Watch(watchCtx, prefix, w.after+1) })
	}()
	return w.out, nil
}

// watcher joins the changes of specs and statuses to changes of objects. The snapshot it starts from may be newer than the
// revision it reports from: until the changes have caught up, an object is reported as the snapshot has it, when the change that
// the snapshot contains comes by.
type watcher struct {
	k     *kind
	scope Scope
	out   chan WatchEvent
	// after is the revision that the client has seen.
	after int64
	snap  *snapshot
	// known says which objects of the snapshot the client knows of.
	known map[string]bool
	// passed are specs that came by and were not in the snapshot any more: their deletion is still to come.
	passed map[string]store.KV
}

func (w *watcher) run(ctx context.Context, current bool, open func(context.Context) <-chan store.Batch) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := open(ctx)
	if current && !w.sendCurrent(ctx) {
		return
	}
	for b := range batches {
		if b.Err != nil {
			err := fmt.Errorf("watch %s: %w", w.k.name, b.Err)
			if errors.Is(b.Err, store.ErrCompacted) {
				err = ErrExpired
			}
			w.send(ctx, WatchEvent{Err: err})
			return
		}
		if !w.batch(ctx, b) {
			return
		}
	}
}

// sendCurrent reports the snapshot.
func (w *watcher) sendCurrent(ctx context.Context) bool {
	for _, id := range w.snap.ids {
		if !w.sendObject(ctx, Added, id, w.after) {
			return false
		}
	}
	return w.send(ctx, WatchEvent{Type: Bookmark, ResourceVersion: strconv.FormatInt(w.after, 10)})
}

// batch reports what one revision did, one event an object.
func (w *watcher) batch(ctx context.Context, b store.Batch) bool {
	var touched []string
	last := w.lastSeen(b)
	for _, c := range b.Changes {
		id, isSpec := w.idOf(c.Key)
		switch {
		case id == "":
			continue
		case isSpec && c.Deleted:
			// reported below, from last
		case isSpec:
			if !w.snap.take(w.snap.specs, id, c) {
				w.passed[id] = c.KV
				continue
			}
			delete(w.passed, id)
		case !w.snap.take(w.snap.statuses, id, c):
			continue
		}
		if !slices.Contains(touched, id) {
			touched = append(touched, id)
		}
	}
	for _, id := range touched {
		more := false
		if o, ok := last[id]; ok {
			more = w.reportDeletion(ctx, id, o, b.Revision)
		} else {
			more = w.reportChange(ctx, id, b.Revision)
		}
		if !more {
			return false
		}
	}
	return true
}

// lastSeen are the objects that a revision deletes, as they were before it: nil for one that the client never knew of.
func (w *watcher) lastSeen(b store.Batch) map[string]v1.Object {
	last := map[string]v1.Object{}
	for _, c := range b.Changes {
		id, isSpec := w.idOf(c.Key)
		if id == "" || !isSpec || !c.Deleted {
			continue
		}
		passed, wasPassed := w.passed[id]
		var err error
		switch {
		case b.Revision > w.snap.at:
			last[id], err = w.snap.join(w.k, id)
		case !wasPassed:
			last[id] = w.nameOnly(id)
		case passed.CreateRevision > w.after:
			last[id] = nil
		default:
			last[id], err = w.k.decode(passed, nil)
		}
		if err != nil {
			last[id] = w.nameOnly(id) // it was unreadable, and is gone
		}
	}
	return last
}

// take takes a change into the snapshot, whose specs or statuses keys is, and tells whether it now holds what the change says. It
// does not when it had something newer.
func (s *snapshot) take(keys map[string]store.KV, id string, c store.Change) bool {
	have, ok := keys[id]
	switch {
	case c.ModRevision <= s.at:
		return ok && have.ModRevision == c.ModRevision
	case c.Deleted:
		delete(keys, id)
	default:
		keys[id] = c.KV
	}
	return true
}

func (w *watcher) reportChange(ctx context.Context, id string, revision int64) bool {
	spec, ok := w.snap.specs[id]
	if !ok || spec.CreateRevision > revision {
		return true // the status of an object that is gone, or is of an older one with this name
	}
	kind := Added
	if w.known[id] {
		kind = Modified
	}
	w.known[id] = true
	return w.sendObject(ctx, kind, id, revision)
}

func (w *watcher) reportDeletion(ctx context.Context, id string, last v1.Object, revision int64) bool {
	delete(w.passed, id)
	if revision > w.snap.at {
		delete(w.snap.specs, id)
		delete(w.known, id)
	}
	if last == nil {
		return true
	}
	return w.send(ctx, WatchEvent{Type: Deleted, Object: last, ResourceVersion: strconv.FormatInt(revision, 10)})
}

// nameOnly is an object of which no more than its name is known.
func (w *watcher) nameOnly(id string) v1.Object {
	ref := w.k.refOf(id)
	o := w.k.blank()
	*o.GetTypeMeta() = v1.TypeMeta{APIVersion: v1.APIVersion, Kind: w.k.name}
	*o.GetMetadata() = v1.ObjectMeta{Name: ref.Name, Namespace: ref.Namespace}
	return o
}

// idOf is the id of the object that a key belongs to, empty when it is none of the watch's, and whether the key is its spec.
func (w *watcher) idOf(key string) (id string, isSpec bool) {
	if id, isSpec = w.k.parse(key); !w.k.includes(w.scope, id) {
		return "", false
	}
	return id, isSpec
}

func (w *watcher) sendObject(ctx context.Context, kind, id string, revision int64) bool {
	o, err := w.snap.join(w.k, id)
	if err != nil {
		return w.send(ctx, WatchEvent{Err: err})
	}
	return w.send(ctx, WatchEvent{Type: kind, Object: o, ResourceVersion: strconv.FormatInt(revision, 10)})
}

// send hands an event to the client and tells whether the watch goes on.
func (w *watcher) send(ctx context.Context, e WatchEvent) bool {
	select {
	case w.out <- e:
		return e.Err == nil
	case <-ctx.Done():
		return false
	}
}
