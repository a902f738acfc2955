package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// ErrKilled is what every call through a killed handle returns.
var ErrKilled = errors.New("the process of this handle was killed")

// Faults are what goes wrong for one process. All functions may be nil; they are called without locks held, one call at a time
// for each transaction under way, and want a seeded source where they choose.
type Faults struct {
	// Txn is asked before each transaction.
	Txn func(store.Txn) Fault
	// Latency is how long a transaction takes; it becomes visible at the end of it. Zero: no time at all.
	Latency time.Duration
	// Landed decides whether a transaction that was under way when the handle was killed or the caller's ctx ended has
	// happened. Nil: it has not.
	Landed func(store.Txn) bool
}

// Fault is what befalls one transaction; zero is nothing.
type Fault struct {
	// Drop: the transaction does not happen.
	Drop bool
	// Err is what the caller is told, whether it happened or not.
	Err error
	// Kill kills the handle once the transaction has happened or was dropped; the caller is told ErrKilled.
	Kill bool
}

// Handle is the store as one process sees it.
type Handle struct {
	data   *data
	faults Faults
	// Both are closed under data.mu.
	killed, closed chan struct{}
}

var _ store.Store = (*Handle)(nil)

func newHandle(d *data, f Faults) *Handle {
	return &Handle{data: d, faults: f, killed: make(chan struct{}), closed: make(chan struct{})}
}

// Kill cuts the process off, as SIGKILL or a lost network would: every call fails with ErrKilled, watches end with it, its
// candidates no longer stand, and its term is no longer renewed. The term's key lives until the TTL is over, and the term counts
// on its own until TTL minus the margin, as a process would that is alive and cut off; cancel the ctx of its Campaign to have
// the process dead at once.
func (h *Handle) Kill() {
	h.data.mu.Lock()
	defer h.data.mu.Unlock()
	if !isClosed(h.killed) {
		close(h.killed)
	}
}

// Close ends the process in good order: its watches and terms end, its lease runs out. Other handles go on.
func (h *Handle) Close() error {
	h.data.mu.Lock()
	defer h.data.mu.Unlock()
	if !isClosed(h.closed) {
		close(h.closed)
	}
	return nil
}

// alive is the reason why calls fail; nil when they do not.
func (h *Handle) alive() error {
	switch {
	case isClosed(h.killed):
		return ErrKilled
	case isClosed(h.closed), isClosed(h.data.closed):
		return store.ErrClosed
	}
	return nil
}

// enter takes the lock for one call.
func (h *Handle) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.data.mu.Lock()
	if err := h.alive(); err != nil {
		h.data.mu.Unlock()
		return nil, err
	}
	return h.data.mu.Unlock, nil
}

// Get implements store.Store.
func (h *Handle) Get(ctx context.Context, key string) (store.KV, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return store.KV{}, fmt.Errorf("get key %s: %w", key, err)
	}
	defer leave()
	return h.data.get(key), nil
}

// GetAll implements store.Store.
func (h *Handle) GetAll(ctx context.Context, keys []string) ([]store.KV, int64, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("get %d keys: %w", len(keys), err)
	}
	defer leave()
	kvs := make([]store.KV, len(keys))
	for i, key := range keys {
		kvs[i] = h.data.get(key)
	}
	return kvs, h.data.revision, nil
}

// List implements store.Store.
func (h *Handle) List(ctx context.Context, prefixes ...string) ([]store.KV, int64, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list keys under %s: %w", strings.Join(prefixes, ", "), err)
	}
	defer leave()
	var kvs []store.KV
	for _, prefix := range prefixes {
		kvs = append(kvs, h.data.list(prefix)...)
	}
	return kvs, h.data.revision, nil
}

// Txn implements store.Store.
func (h *Handle) Txn(ctx context.Context, t store.Txn) (int64, error) {
	if err := t.Check(); err != nil {
		return 0, err
	}
	leave, err := h.enter(ctx)
	if err != nil {
		return 0, fmt.Errorf("transaction: %w", err)
	}
	leave()
	var f Fault
	if h.faults.Txn != nil {
		f = h.faults.Txn(t)
	}
	var rev int64
	interrupted := h.travel(ctx)
	landed := interrupted == nil || h.faults.Landed != nil && h.faults.Landed(t)
	if landed && !f.Drop {
		rev, err = h.arrive(t)
	}
	if f.Kill {
		h.Kill()
	}
	switch {
	case f.Kill:
		err = ErrKilled
	case interrupted != nil:
		err = interrupted
	case f.Err != nil:
		err = f.Err
	case err == nil && isClosed(h.killed): // killed before the answer arrived
		err = ErrKilled
	}
	if err != nil {
		return 0, fmt.Errorf("transaction: %w", err)
	}
	return rev, nil
}

// travel is the time a transaction takes; an error when the process or the call ended meanwhile.
func (h *Handle) travel(ctx context.Context) error {
	if h.faults.Latency <= 0 {
		return nil
	}
	timer := time.NewTimer(h.faults.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.killed:
		return ErrKilled
	}
}

// arrive does the transaction, though the process that sent it may have ended.
func (h *Handle) arrive(t store.Txn) (int64, error) {
	h.data.mu.Lock()
	defer h.data.mu.Unlock()
	if isClosed(h.data.closed) {
		return 0, store.ErrClosed
	}
	return h.data.commit(t)
}
