package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Campaign implements store.Store. Candidates lead in the order in which they came.
func (h *Handle) Campaign(ctx context.Context, name string) (store.Term, error) {
	t, err := h.campaign(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("campaign of %s: %w", name, err)
	}
	return t, nil
}

func (h *Handle) campaign(ctx context.Context, name string) (*term, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return nil, err
	}
	c := &candidate{handle: h, name: name, elected: make(chan *lease, 1)}
	h.data.waiting = append(h.data.waiting, c)
	h.data.settleElection()
	leave()

	select {
	case l := <-c.elected:
		t := &term{handle: h, lease: l, renewed: l.deadline.Add(-h.data.ttl), done: make(chan struct{}), resigned: make(chan struct{})}
		go t.keep(ctx)
		return t, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-h.killed:
		err = ErrKilled
	case <-h.closed:
		err = store.ErrClosed
	case <-h.data.closed:
		err = store.ErrClosed
	}
	h.withdraw(c)
	return nil, err
}

// withdraw takes a candidate out of the running; one elected at the very same time gives up its lease.
func (h *Handle) withdraw(c *candidate) {
	h.data.mu.Lock()
	defer h.data.mu.Unlock()
	if i := slices.Index(h.data.waiting, c); i >= 0 {
		h.data.waiting = slices.Delete(h.data.waiting, i, i+1)
	}
	select {
	case l := <-c.elected:
		if h.alive() == nil {
			h.data.release(l)
		}
	default:
	}
}

// term implements store.Term.
type term struct {
	handle *Handle
	lease  *lease
	// Under data.mu: the last renewal, and whether the term ended before its time.
	renewed time.Time
	ended   bool

	resigned, done chan struct{}
}

// keep renews the lease until the term is over.
func (t *term) keep(ctx context.Context) {
	defer close(t.done)
	defer t.end()
	tick := time.NewTicker(store.RenewEvery(t.handle.data.ttl))
	defer tick.Stop()
	lost := t.lease.lost
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.resigned:
			return
		case <-lost:
			if !isClosed(t.handle.killed) {
				return
			}
			lost = nil // cut off, it cannot know
		case <-t.handle.closed:
			return
		case <-t.handle.data.closed:
			return
		case <-tick.C:
			t.renew()
			if !t.Valid() {
				return
			}
		}
	}
}

func (t *term) renew() {
	d := t.handle.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.handle.alive() == nil && d.leader == t.lease {
		d.renew(t.lease)
		t.renewed = time.Now()
	}
}

func (t *term) end() {
	t.handle.data.mu.Lock()
	defer t.handle.data.mu.Unlock()
	t.ended = true
}

// Fence implements store.Term.
func (t *term) Fence() store.Cond {
	return store.Cond{Key: t.lease.key, Kind: store.CreatedAt, Revision: t.lease.created}
}

// Valid implements store.Term.
func (t *term) Valid() bool {
	d := t.handle.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.ended || isClosed(t.handle.closed) || isClosed(d.closed) {
		return false
	}
	// Cut off, it cannot know that its key is gone: it has only its clock.
	if !isClosed(t.handle.killed) && isClosed(t.lease.lost) {
		return false
	}
	return time.Since(t.renewed) < d.ttl-store.Margin(d.ttl)
}

// TTL implements store.Term.
func (t *term) TTL() time.Duration { return t.handle.data.ttl }

// Done implements store.Term.
func (t *term) Done() <-chan struct{} { return t.done }

// Resign implements store.Term.
func (t *term) Resign(ctx context.Context) error {
	leave, err := t.handle.enter(ctx)
	if err != nil {
		return fmt.Errorf("resign: %w", err)
	}
	t.ended = true
	if !isClosed(t.resigned) {
		close(t.resigned)
	}
	t.handle.data.release(t.lease)
	leave()
	<-t.done
	return nil
}
