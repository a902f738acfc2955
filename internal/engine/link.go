package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// link is one connection to a host, from greeting to loss.
type link struct {
	h     *host
	conn  hypervisor.Conn
	epoch int64
	// answered is when the host last answered anything, in nanoseconds of the clock below.
	born     time.Time
	answered atomic.Int64
	// broken gets the first error that shows that the connection is of no use any more.
	broken chan error
	// relist asks for a listing out of turn.
	relist chan struct{}

	facts   hypervisor.Facts
	listing core.HostListed

	// looks are the domains to look at, in order, with what the events told about their ends.
	mu      sync.Mutex
	looks   []string
	ends    map[string][]string
	looking bool
}

func newLink(h *host, conn hypervisor.Conn) *link {
	return &link{
		h: h, conn: conn, epoch: h.hs.epoch.Add(1), born: time.Now(),
		broken: make(chan error, 1), relist: make(chan struct{}, 1), ends: map[string][]string{},
	}
}

// errConnection: the driver reported the loss.
var errConnection = errors.New("the connection was lost")

// nobody is the UUID of no domain: looking at it costs a host next to nothing, and shows that it answers.
const nobody = "00000000-0000-0000-0000-000000000000"

// greet learns what the host is and what it has.
func (l *link) greet(ctx context.Context) (err error) {
	asking, cancel := context.WithTimeout(ctx, l.h.o.QueryDeadline)
	defer cancel()
	if l.facts, err = l.conn.Facts(asking); err != nil {
		return fmt.Errorf("ask the host what it is: %w", err)
	}
	if l.listing, err = l.list(ctx); err != nil {
		return fmt.Errorf("list the host's domains: %w", err)
	}
	return nil
}

// list lists everything on the host.
func (l *link) list(ctx context.Context) (core.HostListed, error) {
	ctx, cancel := context.WithTimeout(ctx, l.h.o.QueryDeadline)
	defer cancel()
	listing := core.HostListed{Host: l.h.name, Epoch: l.epoch, Seq: l.h.hs.seq.Add(1)}
	domains, err := l.conn.List(ctx)
	listing.Domains = domains
	l.note(err)
	return listing, err
}

// look looks at one domain. Seq was drawn before.
func (l *link) look(uuid string) (*hypervisor.Domain, error) {
	if err := l.h.ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(l.h.ctx, l.h.o.QueryDeadline)
	defer cancel()
	d, found, err := l.conn.Look(ctx, uuid)
	l.note(err)
	if err != nil || !found {
		return nil, err
	}
	return &d, nil
}

// note takes note of an answer of the host, or of the lack of one to a mere question: then the connection is given up.
func (l *link) note(err error) {
	if err == nil || hypervisor.Answered(err) {
		l.answered.Store(int64(time.Since(l.born)))
		return
	}
	select {
	case l.broken <- err:
	default:
	}
}

// lastAnswer is when the host last answered.
func (l *link) lastAnswer() time.Time { return l.born.Add(time.Duration(l.answered.Load())) }

func (l *link) close() {
	if err := l.conn.Close(); err != nil {
		l.h.log.Debug("closing the connection failed", "err", err)
	}
}

// serve opens the connection for commands, and keeps looking at the host until the connection is lost or the supervisor stops.
func (l *link) serve() error {
	h := l.h
	h.setLink(l)
	h.log.Info("host is up", "epoch", l.epoch, "domains", len(l.listing.Domains))
	h.hs.post(core.HostConnected{Host: h.name, Epoch: l.epoch, Facts: l.facts, Listing: l.listing})
	l.facts, l.listing = hypervisor.Facts{}, core.HostListed{}

	events := l.conn.Events()
	resync := time.Now().Add(h.resyncOffset())
	timer := time.NewTimer(0)
	defer timer.Stop()
	// At most one question of the supervisor's own is under way; asked says when it is over.
	asked, asking, relist := make(chan struct{}, 1), false, false
	for {
		select {
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		case err := <-l.broken:
			return err
		case ev, open := <-events:
			if !open {
				return errConnection
			}
			l.queueLook(ev)
			continue
		case <-l.relist:
			relist = true
		case <-asked:
			asking = false
		case <-timer.C:
		}
		if asking {
			continue
		}
		switch ping := l.lastAnswer().Add(h.o.PingInterval); {
		case relist || time.Until(resync) <= 0:
			asking = true
			if !relist {
				resync = resync.Add(h.o.ResyncInterval)
			}
			relist = false
			h.hs.t.group.Go(func() { l.resync(); asked <- struct{}{} })
		case time.Until(ping) <= 0:
			asking = true
			h.hs.t.group.Go(func() { l.look(nobody); asked <- struct{}{} })
		default:
			timer.Reset(min(time.Until(ping), time.Until(resync)))
		}
	}
}

// resync tells the core everything that is on the host.
func (l *link) resync() {
	if listing, err := l.list(l.h.ctx); err == nil {
		l.h.hs.post(listing)
	}
}

// queueLook has a domain looked at soon. Events of one domain that come in the meantime are answered by one look; what they tell
// about its end is kept.
func (l *link) queueLook(ev hypervisor.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends, waiting := l.ends[ev.UUID]
	if !waiting {
		l.looks = append(l.looks, ev.UUID)
	}
	if ev.Ended != "" && !slices.Contains(ends, ev.Ended) {
		ends = append(ends, ev.Ended)
	}
	l.ends[ev.UUID] = ends
	if !l.looking {
		l.looking = true
		l.h.hs.t.group.Go(l.lookAll)
	}
}

// lookAll looks at the domains that wait for it, one after another.
func (l *link) lookAll() {
	for {
		uuid, ends, ok := l.nextLook()
		if !ok {
			return
		}
		seen := core.DomainSeen{Host: l.h.name, Epoch: l.epoch, Seq: l.h.hs.seq.Add(1), UUID: uuid}
		d, err := l.look(uuid)
		if err != nil {
			continue // not found is no error: either the connection is lost, or the next resync shows it
		}
		seen.Domain = d
		if len(ends) == 0 {
			l.h.hs.post(seen)
		}
		for _, end := range ends {
			seen.Ended = end
			l.h.hs.post(seen)
		}
	}
}

func (l *link) nextLook() (uuid string, ends []string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.looks) == 0 || l.h.ctx.Err() != nil {
		l.looking = false
		return "", nil, false
	}
	uuid = l.looks[0]
	l.looks = l.looks[1:]
	ends = l.ends[uuid]
	delete(l.ends, uuid)
	return uuid, ends, true
}
