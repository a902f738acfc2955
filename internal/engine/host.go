package engine

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/core"
)

// host supervises one host: it keeps a connection, looks at what events point to, lists everything now and then, and carries out
// commands. Each host has its own goroutines and deadlines, so that a frozen one delays nobody.
type host struct {
	hs             *hosts
	o              *Options
	name, uid, uri string
	log            *slog.Logger
	// ctx ends with the term, or when the host is removed or has moved.
	ctx  context.Context
	stop context.CancelCauseFunc

	mu sync.Mutex
	// link is the connection; nil while there is none.
	link *link
	// epoch of the newest connection, zero before the first.
	epoch int64
	// orders wait for one of the workers, which are started when needed. busy are the commands that have not come back, by domain.
	orders  []order
	busy    map[string]uint64
	workers int
}

// Why a supervisor stops while the term goes on.
var (
	errMoved   = errors.New("the host's address has been changed")
	errRemoved = errors.New("the host has been removed")
)

func newHost(hs *hosts, name, uid, uri string) *host {
	h := &host{hs: hs, o: hs.t.o, name: name, uid: uid, uri: uri, busy: map[string]uint64{}, log: hs.t.o.Log.With("host", name)}
	h.ctx, h.stop = context.WithCancelCause(hs.ctx)
	return h
}

// supervise connects, serves the connection until it is lost, and connects again.
func (h *host) supervise() {
	silentSince := time.Now()
	for h.ctx.Err() == nil {
		l := h.reach(silentSince)
		if l == nil {
			break
		}
		err := l.serve()
		h.setLink(nil)
		l.close()
		silentSince = l.lastAnswer()
		if h.ctx.Err() == nil {
			h.log.Warn("host is lost", "err", err, "epoch", l.epoch)
			h.lost(err, time.Since(silentSince) >= h.o.UnreachableAfter)
		}
	}
	if errors.Is(context.Cause(h.ctx), errMoved) {
		h.hs.post(core.HostLost{Host: h.name, Epoch: h.lastEpoch(), Err: errMoved.Error()})
	}
}

// reach tries to connect until it succeeds (nil: the supervisor is to stop). While the host is silent for not too long a try or
// a pause ends early enough to say in time that it is unreachable.
func (h *host) reach(silentSince time.Time) *link {
	unreachableAt := silentSince.Add(h.o.UnreachableAfter)
	told := time.Until(unreachableAt) <= 0
	delay := h.o.ReconnectMin
	for h.ctx.Err() == nil {
		l, err := h.try(unreachableAt, told)
		if err == nil {
			return l
		}
		if h.ctx.Err() != nil {
			break
		}
		pause := delay
		if !told {
			pause = min(pause, max(0, time.Until(unreachableAt)))
		}
		late := time.Until(unreachableAt) <= 0
		if late && !told {
			h.log.Warn("host is unreachable", "err", err)
		}
		told = told || late
		h.lost(err, told)
		sleep(h.ctx, pause)
		if late := time.Until(unreachableAt) <= 0; late && !told && h.ctx.Err() == nil {
			told = true
			h.log.Warn("host is unreachable", "err", err)
			h.lost(err, told)
		}
		delay = min(2*delay, h.o.ReconnectMax)
	}
	return nil
}

// try tries once to connect, for as long as it takes; while nobody has been told that the host is unreachable, only until then.
func (h *host) try(unreachableAt time.Time, told bool) (*link, error) {
	if told {
		return h.connect(h.ctx)
	}
	ctx, cancel := context.WithDeadline(h.ctx, unreachableAt)
	defer cancel()
	return h.connect(ctx)
}

func (h *host) lost(err error, unreachable bool) {
	h.hs.post(core.HostLost{Host: h.name, Epoch: h.lastEpoch(), Err: err.Error(), Unreachable: unreachable})
}

// connect makes a new connection, and learns what the host is and has. Each step has its own deadline; ctx bounds them together.
func (h *host) connect(ctx context.Context) (*link, error) {
	dialing, cancel := context.WithTimeout(ctx, h.o.ConnectDeadline)
	defer cancel()
	conn, err := h.o.Driver.Connect(dialing, h.uri)
	if err != nil {
		return nil, err // the core names the address
	}
	l := newLink(h, conn)
	if err := l.greet(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (h *host) setLink(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link = l
	if l != nil {
		h.epoch = l.epoch
	}
}

func (h *host) lastEpoch() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// resyncOffset spreads the listings of hosts over the interval.
func (h *host) resyncOffset() time.Duration {
	f := fnv.New64a()
	f.Write([]byte(h.name))
	return time.Duration(f.Sum64() % uint64(h.o.ResyncInterval))
}
