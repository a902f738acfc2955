package etcd

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// term is a candidate's lease and key, and store.Term once it leads.
type term struct {
	store   *Store
	lease   clientv3.LeaseID
	key     string
	created int64
	ttl     time.Duration

	mu sync.Mutex
	// confirmed is when the last renewal that etcd confirmed was asked for: etcd renewed later than that, so that our count
	// ends before etcd's. (When the answer was read says nothing: it may have lain there while this process was stopped.)
	confirmed time.Time
	ended     bool

	resigned, done chan struct{} // resigned is closed with ended
}

// keep renews the lease until the term is over.
func (t *term) keep(ctx context.Context) {
	defer close(t.done)
	defer t.end()
	ctx, leave, err := t.store.enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	own := t.store.Watch(ctx, t.key, t.created+1)
	tick := time.NewTicker(store.RenewEvery(t.ttl))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.resigned:
			return
		case b := <-own:
			if b.Err == nil {
				return // the key is gone, or someone wrote to it: it is not ours any more
			}
			own = nil // the lease and the fence must do
		case <-tick.C:
			if is(t.renew(ctx), rpctypes.ErrLeaseNotFound) || !t.Valid() {
				return
			}
		}
	}
}

// renew asks once. A question without an answer is given up when the next one is due: that one may find another server.
func (t *term) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.RenewEvery(t.ttl))
	defer cancel()
	asked := time.Now()
	if _, err := t.store.client.KeepAliveOnce(ctx, t.lease); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.confirmed = asked
	return nil
}

// end makes the term invalid for good and stops its renewal.
func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.resigned)
	}
}

// Fence implements store.Term.
func (t *term) Fence() store.Cond {
	return store.Cond{Key: t.key, Kind: store.CreatedAt, Revision: t.created}
}

// Valid implements store.Term.
func (t *term) Valid() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ended && t.store.ctx.Err() == nil && time.Since(t.confirmed) < t.ttl-store.Margin(t.ttl)
}

// TTL implements store.Term.
func (t *term) TTL() time.Duration { return t.ttl }

// Done implements store.Term.
func (t *term) Done() <-chan struct{} { return t.done }

// Resign implements store.Term.
func (t *term) Resign(ctx context.Context) error {
	t.end()
	joined, leave, err := t.store.enter(ctx)
	if err != nil {
		return t.store.fail(ctx, err, "resign")
	}
	defer leave()
	<-t.done
	if err := t.revoke(joined); err != nil {
		return t.store.fail(ctx, err, "resign")
	}
	return nil
}
