package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

var electionCases = []Case{
	{"Lead", long, lead},
	{"OneLeaderAtATime", long, oneLeaderAtATime},
	{"ResignHandsOver", long, resignHandsOver},
	{"TermEndsWithItsContext", short, termEndsWithItsContext},
	{"ResignAfterTheContextEnded", long, resignAfterTheContextEnded},
	{"LeaseIsRenewed", short, leaseIsRenewed},
	{"TermEndsWithItsKey", long, termEndsWithItsKey},
	{"CandidateGivesUp", long, candidateGivesUp},
}

func mustLead(t *testing.T, ctx context.Context, st store.Store, name string) store.Term {
	t.Helper()
	term, err := st.Campaign(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func fenced(t *testing.T, st store.Store, term store.Term) error {
	_, err := st.Txn(patient(t), store.Txn{If: []store.Cond{term.Fence()}, Put: []store.KV{{Key: "/fenced"}}})
	return err
}

// isOver checks all that a term which is over has in common.
func isOver(t *testing.T, term store.Term) {
	t.Helper()
	mustEnd(t, term.Done(), "the term")
	if term.Valid() {
		t.Error("a term is valid after it was done")
	}
}

func lead(t *testing.T, st Store) {
	term := mustLead(t, t.Context(), st, "me")
	if !term.Valid() {
		t.Error("a new term is not valid")
	}
	if term.TTL() != long {
		t.Errorf("the lease lives for %v, want %v", term.TTL(), long)
	}
	if err := fenced(t, st, term); err != nil {
		t.Errorf("a write of the leader: %v", err)
	}
	kvs, _ := mustList(t, st, layout.Leader)
	if len(kvs) != 1 || string(kvs[0].Value) != "me" || kvs[0].Key != term.Fence().Key {
		t.Errorf("who leads, for people: %+v", kvs)
	}
	select {
	case <-term.Done():
		t.Error("the term is over")
	default:
	}
}

// Candidates that lead in turn never meet, and none of their fenced writes is lost.
func oneLeaderAtATime(t *testing.T, st Store) {
	const candidates, turns = 4, 3
	var leaders atomic.Int32
	var wg sync.WaitGroup
	turn := func(name string) error {
		term, err := st.Campaign(t.Context(), name)
		if err != nil {
			return err
		}
		if n := leaders.Add(1); n != 1 {
			t.Errorf("%d lead at once", n)
		}
		err = increment(t.Context(), st, "/turns", term.Fence())
		leaders.Add(-1)
		return errors.Join(err, term.Resign(t.Context()))
	}
	for i := range candidates {
		wg.Go(func() {
			for range turns {
				if err := turn(fmt.Sprintf("candidate %d", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := string(mustGet(t, st, "/turns").Value); got != strconv.Itoa(candidates*turns) {
		t.Errorf("%s turns, want %d", got, candidates*turns)
	}
}

// The lease would outlive the case's patience.
func resignHandsOver(t *testing.T, st Store) {
	ctx := patient(t)
	first := mustLead(t, ctx, st, "first")
	elected := make(chan store.Term)
	go func() {
		defer close(elected)
		if term, err := st.Campaign(ctx, "second"); err == nil {
			elected <- term
		} else {
			t.Error(err)
		}
	}()
	if err := first.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	isOver(t, first)
	second := <-elected
	if second == nil {
		t.Fatal("nobody leads")
	}
	if err := fenced(t, st, first); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a write of the former leader: %v, want a conflict", err)
	}
	if err := fenced(t, st, second); err != nil {
		t.Errorf("a write of the leader: %v", err)
	}
	if err := first.Resign(ctx); err != nil {
		t.Errorf("resigning twice: %v", err)
	}
	if !second.Valid() {
		t.Error("the resignation of the former leader ended the term of its successor")
	}
}

// A process that dies is succeeded when its lease is over; by then its term is long not valid.
func termEndsWithItsContext(t *testing.T, st Store) {
	ctx, die := context.WithCancel(t.Context())
	first := mustLead(t, ctx, st, "first")
	key := first.Fence().Key
	die()
	isOver(t, first)
	if kv := mustGet(t, st, key); kv.CreateRevision != first.Fence().Revision {
		t.Error("the key of a leader that died is gone before its lease")
	}
	second := mustLead(t, patient(t), st, "second")
	if kv := mustGet(t, st, key); kv.ModRevision != 0 {
		t.Error("two lead")
	}
	if err := fenced(t, st, first); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a write of the former leader: %v, want a conflict", err)
	}
	if err := fenced(t, st, second); err != nil {
		t.Errorf("a write of the leader: %v", err)
	}
}

func resignAfterTheContextEnded(t *testing.T, st Store) {
	ctx, stop := context.WithCancel(t.Context())
	first := mustLead(t, ctx, st, "first")
	stop()
	isOver(t, first)
	if err := first.Resign(patient(t)); err != nil {
		t.Fatal(err)
	}
	mustLead(t, patient(t), st, "second")
}

// A leader leads for longer than one lease.
func leaseIsRenewed(t *testing.T, st Store) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	term := mustLead(t, ctx, st, "me")
	select {
	case <-term.Done():
		t.Error("the term ended though nothing was wrong")
	case <-time.After(2 * term.TTL()):
	}
	if !term.Valid() {
		t.Error("the term is not valid though nothing is wrong")
	}
	if err := fenced(t, st, term); err != nil {
		t.Error(err)
	}
}

// Whoever deletes the leader's key deposes it.
func termEndsWithItsKey(t *testing.T, st Store) {
	term := mustLead(t, t.Context(), st, "me")
	mustTxn(t, st, store.Txn{Delete: []string{term.Fence().Key}})
	if err := fenced(t, st, term); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a write of the deposed leader: %v, want a conflict", err)
	}
	isOver(t, term)
	mustLead(t, patient(t), st, "next")
}

// A candidate that gives up stands in nobody's way.
func candidateGivesUp(t *testing.T, st Store) {
	first := mustLead(t, t.Context(), st, "first")
	ctx, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := st.Campaign(ctx, "second")
		gaveUp <- err
	}()
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a candidate that gave up: %v", err)
	}
	if !first.Valid() {
		t.Error("a candidate that gave up ended the leader's term")
	}
	if err := first.Resign(patient(t)); err != nil {
		t.Fatal(err)
	}
	mustLead(t, patient(t), st, "third")
}
