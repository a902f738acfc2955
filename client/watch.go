package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// EventType says what a watch reports.
type EventType string

// What a watch reports.
const (
	// Added: the object is there: since before the watch began, or from now on.
	Added EventType = "Added"
	// Modified: the object changed.
	Modified EventType = "Modified"
	// Deleted: the object is gone, or no longer matches the label selector; Object is what it was last.
	Deleted EventType = "Deleted"
	// Synced comes once, without an object: everything that was there when the watch began has been reported.
	Synced EventType = "Synced"
)

// Event is one report of a watch.
type Event[T any] struct {
	Type   EventType
	Object *T
}

// Watch reports what is there and then what changes, for as long as one ranges over it. Nothing is missed; several changes in
// quick succession may be reported as one when the connection broke in between. A dropped connection is made anew, and the watch
// resumes where it was; only a client that has never reached its server gives up at once. An error is the last thing
// reported: the end of the context, or the server's refusal.
type Watch[T any] = iter.Seq2[Event[T], error]

// WatchOptions narrow a watch.
type WatchOptions struct {
	// Name of the only object wanted; empty means all.
	Name string
	// LabelSelector as in ListOptions.
	LabelSelector string
	// OnDisconnect is called when the connection is lost, before each try to make it anew. Nil means that nobody cares.
	OnDisconnect func(error)
}

func (r resource[T]) watch(ctx context.Context, c *Client, namespace string, o WatchOptions) Watch[T] {
	query := ListOptions{Name: o.Name, LabelSelector: o.LabelSelector}.query()
	return r.watchQuery(ctx, c, namespace, query, o.OnDisconnect)
}

func (r resource[T]) watchQuery(ctx context.Context, c *Client, namespace string, query url.Values,
	onDisconnect func(error)) Watch[T] {
	return func(yield func(Event[T], error) bool) {
		w := &watcher[T]{resource: r, client: c, namespace: namespace, query: query, known: map[string]*T{}, yield: yield}
		retry := newBackoff()
		for {
			w.progress = false
			err := w.listAndStream(ctx)
			if w.stopped {
				return
			}
			if ctx.Err() != nil {
				yield(Event[T]{}, ctx.Err())
				return
			}
			if w.progress {
				retry = newBackoff()
			}
			switch {
			case IsGone(err):
				w.version = ""
			case IsUnavailable(err) && c.reached.Load():
				if onDisconnect != nil {
					onDisconnect(err)
				}
			default:
				yield(Event[T]{}, err)
				return
			}
			if err := retry.wait(ctx); err != nil {
				yield(Event[T]{}, err)
				return
			}
		}
	}
}

// watcher is the state of one watch.
type watcher[T any] struct {
	resource  resource[T]
	client    *Client
	namespace string
	query     url.Values
	yield     func(Event[T], error) bool

	// known is what has been reported, by namespace and name: it tells a new object from a changed one, and after a fresh list
	// what is gone.
	known map[string]*T
	// version is where the stream resumes; empty means that a list must come first.
	version string
	synced  bool
	// progress: the server has answered since the last failure.
	progress bool
	// stopped: whoever ranges over the watch wants no more.
	stopped bool
}

// listAndStream returns why the stream ended; it never returns nil unless stopped.
func (w *watcher[T]) listAndStream(ctx context.Context) error {
	if w.version == "" {
		list, err := w.resource.list(ctx, w.client, w.namespace, w.query)
		if err != nil {
			return err
		}
		if !w.replace(list) {
			return nil
		}
	}
	query := url.Values{}
	for k, v := range w.query {
		query[k] = v
	}
	query.Set("watch", "true")
	query.Set("resourceVersion", w.version)
	path := w.resource.in(w.namespace)
	resp, err := w.client.send(ctx, http.MethodGet, path, query, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(bufio.NewReader(resp.Body))
	for {
		var line v1.WatchLine[T]
		if err := lines.Decode(&line); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server ended the watch")
			}
			return w.client.connectionError(ctx, fmt.Errorf("watch %s: %w", path, err))
		}
		w.progress = true
		if line.Problem != nil {
			return &Problem{Problem: *line.Problem}
		}
		if line.Object != nil && !w.apply(line.Type, line.Object) {
			return nil
		}
		if line.ResourceVersion != "" {
			w.version = line.ResourceVersion
		}
	}
}

// replace reports how a fresh list differs from what is known. False means that no more is wanted.
func (w *watcher[T]) replace(list *v1.List[T]) bool {
	w.progress = true
	listed := map[string]bool{}
	for i := range list.Items {
		listed[w.key(&list.Items[i])] = true
	}
	for _, key := range slices.Sorted(maps.Keys(w.known)) {
		if old := w.known[key]; !listed[key] {
			delete(w.known, key)
			if !w.report(Deleted, old) {
				return false
			}
		}
	}
	for i := range list.Items {
		if !w.apply(v1.WatchModified, &list.Items[i]) {
			return false
		}
	}
	w.version = list.Metadata.ResourceVersion
	if !w.synced {
		w.synced = true
		return w.report(Synced, nil)
	}
	return true
}

// apply reports one object, as far as it is news. False means that no more is wanted.
func (w *watcher[T]) apply(change v1.WatchType, object *T) bool {
	key, uid := w.key(object), meta(object).UID
	old := w.known[key]
	same := old != nil && meta(old).UID == uid
	if change == v1.WatchDeleted {
		if old == nil || !same && uid != "" {
			return true
		}
		if uid == "" { // the server knows no more than the name
			object = old
		}
		delete(w.known, key)
		return w.report(Deleted, object)
	}
	if same && meta(old).ResourceVersion == meta(object).ResourceVersion {
		return true
	}
	w.known[key] = object
	switch {
	case old == nil:
		return w.report(Added, object)
	case same:
		return w.report(Modified, object)
	}
	return w.report(Deleted, old) && w.report(Added, object)
}

func (w *watcher[T]) report(t EventType, object *T) bool {
	if !w.yield(Event[T]{Type: t, Object: object}, nil) {
		w.stopped = true
	}
	return !w.stopped
}

func (w *watcher[T]) key(object *T) string {
	return meta(object).Namespace + "/" + meta(object).Name
}
