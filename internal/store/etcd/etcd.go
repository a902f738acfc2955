// Package etcd keeps the store in etcd: embedded in this process by default, an external cluster when one control plane is not
// enough.
//
// It exists to turn etcd into the few promises of package store, and it is the only place that knows etcd's API, limits and
// errors. It knows nothing of the objects that are stored.
package etcd

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Store is the store in etcd.
type Store struct {
	client *clientv3.Client
	ttl    time.Duration
	log    *slog.Logger
	// embedded is the server in this process; nil for an external cluster.
	embedded *server

	// ctx ends with the store; calls counts those under way, for nothing may touch an embedded server that has stopped.
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	calls  sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

func newStore(client *clientv3.Client, ttl time.Duration, log *slog.Logger, embedded *server) *Store {
	s := &Store{client: client, ttl: ttl, log: log, embedded: embedded}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// enter begins a call, or whatever else uses the client: its ctx ends with the store, too, and leave must be called.
func (s *Store) enter(ctx context.Context) (joined context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.calls.Add(1)
	joined, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(s.ctx, cancel)
	return joined, func() {
		unhook()
		cancel()
		s.calls.Done()
	}, nil
}

// Close implements store.Store. It waits for calls under way to return. It gives up no lease: Term.Resign does.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.ctx.Err() != nil
	s.cancel()
	s.mu.Unlock()
	s.calls.Wait()
	if closed {
		return nil
	}
	err := s.client.Close()
	if errors.Is(err, context.Canceled) { // how a client in process says that it closed
		err = nil
	}
	if s.embedded != nil {
		s.embedded.stop()
	}
	return err
}
