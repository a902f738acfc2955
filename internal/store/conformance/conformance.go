// Package conformance holds every store to the promises of package store.
//
// It exists so that the store in memory, on which tests and simulation stand, cannot drift from etcd: both run the same cases.
// What only one of them promises is tested in its own package.
package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Store is what the suite needs of a store: its promises, and a way to forget history.
type Store interface {
	store.Store
	Compact(ctx context.Context, revision int64) error
}

// Open makes an empty store whose leases live for ttl. The case closes it.
type Open func(t *testing.T, ttl time.Duration) Store

// Case is one promise, or a few that belong together. Each wants a store of its own.
type Case struct {
	Name string
	// TTL is how long the leases of its store live. Cases in which a lease must run out have a short one; in those where it
	// must not, it is longer than the case may take.
	TTL time.Duration
	Run func(t *testing.T, st Store)
}

const (
	short = 2 * time.Second
	long  = 5 * time.Minute
	// patience is how long a case waits for what must come, before it fails.
	patience = 2 * time.Minute
)

// Run runs all cases, in parallel as far as the -parallel flag allows.
func Run(t *testing.T, open Open) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			RunCase(t, c, open)
		})
	}
}

// RunCase runs one case, in the bubble of a synctest, say.
func RunCase(t *testing.T, c Case, open Open) {
	st := open(t, c.TTL)
	defer func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	c.Run(t, st)
}

// Cases are all cases.
func Cases() []Case {
	return slices.Concat(keyCases, txnCases, watchCases, electionCases, closeCases)
}

// patient is the time a case has.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// puts is a transaction that writes each key with its own name and n as value.
func puts(n int, keys ...string) store.Txn {
	var t store.Txn
	for _, key := range keys {
		t.Put = append(t.Put, store.KV{Key: key, Value: fmt.Appendf(nil, "%s=%d", key, n)})
	}
	return t
}

func mustTxn(t *testing.T, st store.Store, txn store.Txn) int64 {
	t.Helper()
	rev, err := st.Txn(patient(t), txn)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func mustGet(t *testing.T, st store.Store, key string) store.KV {
	t.Helper()
	kv, err := st.Get(patient(t), key)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func mustList(t *testing.T, st store.Store, prefixes ...string) ([]store.KV, int64) {
	t.Helper()
	kvs, rev, err := st.List(patient(t), prefixes...)
	if err != nil {
		t.Fatal(err)
	}
	return kvs, rev
}

func keysOf(kvs []store.KV) []string {
	var keys []string
	for _, kv := range kvs {
		keys = append(keys, kv.Key)
	}
	return keys
}

// next is the next batch of a watch, which must come.
func next(t *testing.T, w <-chan store.Batch) store.Batch {
	t.Helper()
	select {
	case b, ok := <-w:
		if !ok {
			t.Fatal("the watch was closed")
		}
		return b
	case <-time.After(patience):
		t.Fatal("the watch is silent")
	}
	return store.Batch{}
}

// mustEnd waits for a channel to be closed.
func mustEnd[T any](t *testing.T, ch <-chan T, what string) {
	t.Helper()
	select {
	case v, ok := <-ch:
		if ok {
			t.Fatalf("%s: got %v, want the end", what, v)
		}
	case <-time.After(patience):
		t.Fatalf("%s does not end", what)
	}
}
