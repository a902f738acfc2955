package engine

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-vm/holdfast/internal/core"
)

// hosts are the supervisors of a term, one for each host. The loop owns it.
type hosts struct {
	ctx    context.Context
	t      *term
	byName map[string]*host
	// epoch and seq number connections and observations. One counter serves all hosts: each host's numbers still grow, across a
	// change of its address too.
	epoch, seq atomic.Int64
}

func newHosts(ctx context.Context, t *term) *hosts {
	return &hosts{ctx: ctx, t: t, byName: map[string]*host{}}
}

// set begins to supervise a host, or follows a change of its address. A host that was removed and added again is a new one.
func (hs *hosts) set(name, uid, uri string) {
	old := hs.byName[name]
	if old != nil && old.uid == uid && old.uri == uri {
		return
	}
	if old != nil {
		old.stop(errMoved)
	}
	h := newHost(hs, name, uid, uri)
	hs.byName[name] = h
	hs.t.group.Go(h.supervise)
}

// remove stops supervising a host.
func (hs *hosts) remove(name string) {
	if h := hs.byName[name]; h != nil {
		h.stop(errRemoved)
		delete(hs.byName, name)
	}
}

// send gives a command to its host. It never waits. False: there is no such host.
func (hs *hosts) send(o order) bool {
	h := hs.byName[o.Host]
	if h == nil {
		return false
	}
	h.enqueue(o)
	return true
}

// post tells the loop something, unless the term is over.
func (hs *hosts) post(ev core.Event) {
	select {
	case hs.t.inbox <- ev:
	case <-hs.ctx.Done():
	}
}
