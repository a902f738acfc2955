// Package memory is a store in memory: the twin of store/etcd for tests and simulation.
//
// It exists so that a control plane of several processes, their crashes and their elections can be run in one test, in virtual
// time if need be: it uses mutexes, channels and package time only, and starts no goroutine except one for each watch and one
// for each term. It decides nothing at random; where a crash could go either way it asks the test (see Faults).
//
// Nothing here is durable, and nothing of production may depend on it.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Store is the store itself and, as a store.Store, the handle of a process without faults. Closing it closes every handle.
type Store struct {
	*Handle
}

// Option changes a new store.
type Option func(*data)

// WithTTL sets how long a lease lives without renewal; store.DefaultTTL when not given. It must be positive.
func WithTTL(ttl time.Duration) Option {
	return func(d *data) { d.ttl = ttl }
}

// New is an empty store. Its history is kept until Compact. Make it inside the synctest bubble that uses it.
func New(opts ...Option) *Store {
	d := &data{
		ttl:      store.DefaultTTL,
		keys:     map[string]store.KV{},
		revision: 1, // as in an empty etcd
		history:  []store.Batch{{Revision: 1}},
		watches:  map[*watch]bool{},
		changed:  make(chan struct{}),
		closed:   make(chan struct{}),
	}
	for _, o := range opts {
		o(d)
	}
	return &Store{Handle: newHandle(d, Faults{})}
}

// View is the store as one more process sees it, with faults of its own (zero: none). Each has its own candidates, terms and
// watches, which end with the handle.
func (s *Store) View(f Faults) *Handle { return newHandle(s.data, f) }

// Compact forgets what happened at revision and before: new watches from there end with store.ErrCompacted, watches under way
// still get all.
func (s *Store) Compact(_ context.Context, revision int64) error {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	s.data.compact(revision)
	return nil
}

// Close closes the store for all its handles.
func (s *Store) Close() error {
	s.data.mu.Lock()
	if !isClosed(s.data.closed) {
		close(s.data.closed)
	}
	s.data.mu.Unlock()
	return s.Handle.Close()
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// data is what all handles share.
type data struct {
	ttl time.Duration

	mu       sync.Mutex
	keys     map[string]store.KV
	revision int64
	// history holds one batch for each revision up to the newest, from the oldest that a watch may still want.
	history   []store.Batch
	compacted int64
	watches   map[*watch]bool
	changed   chan struct{} // closed and replaced at each revision
	closed    chan struct{}

	leader  *lease
	waiting []*candidate // in the order in which they came
}
