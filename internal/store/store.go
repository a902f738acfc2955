// Package store keeps Holdfast's state: what users want (specs and actions) and what the core decided (statuses).
//
// It exists so that everything above speaks of keys, transactions, one watch and one leader, and not of etcd: store/etcd is
// real (embedded or external), store/memory is its twin for tests and simulation, store/conformance holds both to the same
// promises. Keys and encodings of the objects are in store/layout.
package store

import (
	"context"
	"errors"
	"time"
)

// Errors that callers decide on.
var (
	// ErrConflict: a condition of the transaction did not hold; nothing was written.
	ErrConflict = errors.New("a condition of the transaction does not hold")
	// ErrCompacted: the revision to watch from is gone; list again.
	ErrCompacted = errors.New("the revision has been compacted")
	// ErrNoSpace: the store is full; nothing can be written until space is made.
	ErrNoSpace = errors.New("the store is out of space")
	// ErrUnavailable: the store cannot answer now: it has no leader, or is overloaded. The same call may succeed soon.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// KV is one key as the store has it.
type KV struct {
	Key   string
	Value []byte
	// CreateRevision and ModRevision of the key. ModRevision zero means the key does not exist.
	CreateRevision, ModRevision int64
}

// Cond is a condition of a transaction.
type Cond struct {
	Key string
	// What is compared: exactly one of these is used, as Kind says.
	Kind     CondKind
	Revision int64
}

// CondKind says what a condition compares.
type CondKind int

// The kinds of conditions.
const (
	// Absent: the key does not exist.
	Absent CondKind = iota
	// Exists: the key exists.
	Exists
	// ModAtMost: the key exists and has not been changed since Revision.
	ModAtMost
	// ModIs: the key was changed last at Revision; zero means it does not exist.
	ModIs
	// CreatedAt: the key was created at Revision.
	CreatedAt
)

// Txn is a transaction: when all conditions hold, all keys are put and deleted, else nothing is.
type Txn struct {
	If     []Cond
	Put    []KV // Key and Value count
	Delete []string
}

// Change is one change that a watch reports.
type Change struct {
	KV
	// Deleted: the key is gone; Value is nil and ModRevision is the deletion's.
	Deleted bool
}

// Batch is all that one revision changed, in the order of their keys' writing. Revisions come in ascending order, none twice.
type Batch struct {
	Revision int64
	Changes  []Change
	// Err ends the watch: ErrCompacted, ErrUnavailable, ErrClosed, or what the store says.
	Err error
}

// Limits of one transaction; Txn.Check holds callers to them before a store is asked.
const (
	// MaxTxnOps is how many puts and deletes, and how many conditions, a transaction may have.
	MaxTxnOps = 4096
	// MaxTxnBytes is how many bytes a transaction may have, as Txn.Size counts them.
	MaxTxnBytes = 8 << 20
)

// Store keeps keys. Methods are safe for concurrent use.
type Store interface {
	// Get returns a key; ModRevision zero when it does not exist.
	Get(ctx context.Context, key string) (KV, error)
	// GetAll returns the keys in the order in which they are asked for, ModRevision zero for those that do not exist, as of the
	// one revision that it also returns.
	GetAll(ctx context.Context, keys []string) ([]KV, int64, error)
	// List returns all keys with one of the prefixes, prefix after prefix, each in ascending order, as of the one revision that
	// it also returns. A key with two of the prefixes comes twice.
	List(ctx context.Context, prefixes ...string) ([]KV, int64, error)
	// Watch reports every change of keys with the prefix from revision from (at least 1) on, until ctx ends or a Batch with
	// Err; then the channel is closed. A reader that is slow delays nobody but itself.
	Watch(ctx context.Context, prefix string, from int64) <-chan Batch
	// Txn does all or nothing and returns the revision it made (the current one when it changed nothing: deleting what is
	// not there is no change), or ErrConflict, ErrNoSpace, or another error; after another error, ErrUnavailable among them,
	// the transaction may have happened, unless Txn.Check refused it.
	Txn(ctx context.Context, t Txn) (int64, error)
	// Campaign waits until this process leads, or ctx ends. name is for people who look at who leads. ctx also bounds the
	// term: when it ends, the lease is renewed no more, as if the process had died, and runs out; Resign is the way to go
	// without making the next leader wait.
	Campaign(ctx context.Context, name string) (Term, error)
	// Backup writes a snapshot to path.
	Backup(ctx context.Context, path string) error
	// Close stops the store. Terms end.
	Close() error
}

// Term is one leadership, from election until the lease is lost or given up.
type Term interface {
	// Fence is the condition that every write of the leader carries: it fails once another leads.
	Fence() Cond
	// Valid reports whether calls to hosts may still be made: the lease, counted on the monotonic clock from the last
	// renewal that the store confirmed, has more than a safety margin left.
	Valid() bool
	// TTL is how long a lease lives without renewal: nobody else leads before it is over.
	TTL() time.Duration
	// Done is closed when the term is over: soon after Valid became false for good.
	Done() <-chan struct{}
	// Resign ends the term early, so that the next leader need not wait for the lease. It works after the term ended, too:
	// then it gives up what is left of the lease.
	Resign(ctx context.Context) error
}
