package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

var errLeaseLost = errors.New("the lease was lost while waiting to lead")

// Campaign implements store.Store. Each candidate has a key under layout.Leader, bound to its lease; the oldest key leads. That
// is etcd's own recipe, done here by hand because its Election counts a lease from when the answer was read, which may be long
// after etcd renewed it, and is not stopped by the end of its session.
func (s *Store) Campaign(ctx context.Context, name string) (store.Term, error) {
	for {
		t, err := s.candidate(ctx, name)
		if errors.Is(err, errLeaseLost) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, s.fail(ctx, err, "campaign of %s", name)
		}
		return t, nil
	}
}

// candidate stands once, under one lease.
func (s *Store) candidate(ctx context.Context, name string) (*term, error) {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	t, err := s.stand(ctx, joined, name)
	if err != nil {
		return nil, err
	}
	if err := t.waitForTurn(joined); err != nil {
		t.abandon()
		return nil, err
	}
	return t, nil
}

// stand takes a lease and writes the candidate's key. The lease is renewed until termCtx ends.
func (s *Store) stand(termCtx, ctx context.Context, name string) (*term, error) {
	asked := time.Now()
	grant, err := s.client.Grant(ctx, int64(s.ttl/time.Second))
	if err != nil {
		return nil, fmt.Errorf("ask for a lease: %w", err)
	}
	t := &term{
		store:     s,
		lease:     grant.ID,
		key:       fmt.Sprintf("%s%016x", layout.Leader, int64(grant.ID)),
		ttl:       time.Duration(grant.TTL) * time.Second,
		confirmed: asked,
		resigned:  make(chan struct{}),
		done:      make(chan struct{}),
	}
	put, err := s.client.Put(ctx, t.key, name, clientv3.WithLease(t.lease))
	if err != nil {
		close(t.done)
		t.abandon()
		return nil, fmt.Errorf("write the candidate's key: %w", err)
	}
	t.created = put.Header.Revision
	go t.keep(termCtx)
	return t, nil
}

// waitForTurn waits until all older candidates are gone, then looks whether its own key is still there.
func (t *term) waitForTurn(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.done:
			cancel(errLeaseLost)
		case <-ctx.Done():
		}
	}()
	err := t.waitForOlder(ctx)
	if err == nil {
		var own store.KV
		own, err = t.store.Get(ctx, t.key)
		if err == nil && (own.CreateRevision != t.created || !t.Valid()) {
			err = errLeaseLost
		}
	}
	if err != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}

func (t *term) waitForOlder(ctx context.Context) error {
	for {
		older, err := t.store.client.Get(ctx, layout.Leader, append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(t.created-1))...)
		if err != nil {
			return fmt.Errorf("look for older candidates: %w", err)
		}
		if len(older.Kvs) == 0 {
			return nil
		}
		if err := t.waitForDeletion(ctx, string(older.Kvs[0].Key), older.Header.Revision+1); err != nil {
			return fmt.Errorf("wait for an older candidate: %w", err)
		}
	}
}

func (t *term) waitForDeletion(ctx context.Context, key string, from int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for b := range t.store.Watch(ctx, key, from) {
		if b.Err != nil {
			return b.Err
		}
		if b.Changes[len(b.Changes)-1].Deleted {
			return nil
		}
	}
	return ctx.Err()
}

// abandon gives up the lease of a candidate that does not lead, so that nobody waits for it. It is best effort: the lease runs
// out anyway, for nobody renews it.
func (t *term) abandon() {
	t.end()
	ctx, cancel := context.WithTimeout(t.store.ctx, time.Second)
	defer cancel()
	if err := t.revoke(ctx); err != nil && ctx.Err() == nil {
		t.store.log.Warn("giving up a candidate's lease failed; it runs out", "error", err)
	}
}

// revoke gives up the lease, and with it the key.
func (t *term) revoke(ctx context.Context) error {
	_, err := t.store.client.Revoke(ctx, t.lease)
	if is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}
