package apiserver

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

const (
	// heartbeat is how often a quiet watch shows that it lives.
	heartbeat = 15 * time.Second
	// stalledReader is how long a watch waits for a reader that does not read.
	stalledReader = 30 * time.Second
)

// watch answers with a stream that ends when the client hangs up, the server stops, or the registry has an error.
func (s *Server) watch(ctx context.Context, kind, namespace, from string, f filter) (*huma.StreamResponse, error) {
	scope := registry.Scope{Namespace: namespace}
	if kind != v1.KindEvent { // the name of an event is not that of the object it is about
		scope.Name = f.name
	}
	ctx, cancel := context.WithCancel(ctx)
	changes, err := s.registry.Watch(ctx, kind, scope, from)
	if err != nil {
		cancel()
		return nil, s.problemOf(err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer cancel()
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/jsonl")
		w.WriteHeader(http.StatusOK)
		stream := &watchStream{server: s, w: w, control: http.NewResponseController(w), filter: f, resume: resumePoint{from: from},
			matching: map[string]bool{}}
		stream.run(changes)
	}}, nil
}

// watchStream is one watch.
type watchStream struct {
	server   *Server
	w        http.ResponseWriter
	control  *http.ResponseController
	filter   filter
	resume   resumePoint
	matching map[string]bool
}

func (ws *watchStream) run(changes <-chan registry.WatchEvent) {
	if ws.control.Flush() != nil {
		return
	}
	beat := time.NewTicker(ws.server.heartbeat)
	defer beat.Stop()
	for {
		ok := true
		select {
		case change, open := <-changes:
			if !open {
				return
			}
			ok = ws.report(change)
		case <-beat.C:
			ok = ws.send(v1.WatchBookmark, nil, nil)
		case <-ws.server.stopping:
			return
		}
		if !ok {
			return
		}
	}
}

// report passes one change on, if it is one for this watch. False ends the watch.
func (ws *watchStream) report(change registry.WatchEvent) bool {
	if change.Err != nil {
		p := &v1.Problem{}
		if known, ok := ws.server.problemOf(change.Err).(*problem); ok {
			p = &known.Problem
		}
		ws.send(v1.WatchError, nil, p)
		return false
	}
	ws.resume.pass(change)
	if change.Object == nil {
		return ws.send(v1.WatchBookmark, nil, nil)
	}
	if !ws.filter.matches(change.Object) {
		return true
	}
	what := ws.asSelected(v1.WatchType(change.Type), change.Object)
	return what == "" || ws.send(what, change.Object, nil)
}

// asSelected is what a change is to somebody who sees only the objects with the wanted labels; empty means nothing. A resumed
// watch does not know what its reader has seen: to be safe it reports each object that does not match as deleted, once.
func (ws *watchStream) asSelected(what v1.WatchType, o v1.Object) v1.WatchType {
	if len(ws.filter.labels) == 0 {
		return what
	}
	key := o.GetMetadata().Namespace + "/" + o.GetMetadata().Name
	was, known := ws.matching[key]
	switch {
	case what == v1.WatchDeleted:
		delete(ws.matching, key)
	case ws.filter.labels.matches(o.GetMetadata().Labels):
		ws.matching[key] = true
		if known && !was {
			return v1.WatchAdded
		}
		return what
	default:
		ws.matching[key] = false
		if !known && what == v1.WatchAdded {
			return ""
		}
	}
	if known && !was {
		return ""
	}
	return v1.WatchDeleted
}

// send writes one line at once. False means that the reader is gone.
func (ws *watchStream) send(what v1.WatchType, o v1.Object, p *v1.Problem) bool {
	line := v1.WatchLine[any]{Type: what, ResourceVersion: ws.resume.version(), Problem: p}
	if o != nil {
		var object any = o
		line.Object = &object
	}
	// Not every writer knows deadlines; one that does not cannot stall on a socket either.
	_ = ws.control.SetWriteDeadline(time.Now().Add(stalledReader))
	return huma.DefaultJSONFormat.Marshal(ws.w, line) == nil && ws.control.Flush() == nil
}

// resumePoint is where a watch can be resumed without missing anything: before the revision that is being reported, since more
// of its changes may follow.
type resumePoint struct {
	// from is the version that the client gave; empty means that the watch began with the current objects.
	from string
	// at is the newest point; empty while the current objects are being reported.
	at string
}

func (p *resumePoint) pass(change registry.WatchEvent) {
	revision, err := strconv.ParseInt(change.ResourceVersion, 10, 64)
	switch {
	case err != nil:
	case change.Type == registry.Bookmark:
		p.from, p.at = change.ResourceVersion, change.ResourceVersion
	case p.from != "":
		before, _ := strconv.ParseInt(p.version(), 10, 64)
		p.at = strconv.FormatInt(max(before, revision-1), 10)
	}
}

func (p *resumePoint) version() string {
	if p.at != "" {
		return p.at
	}
	return p.from
}
