package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
)

var txnCases = []Case{
	{"Conditions", long, conditions},
	{"AllOrNothing", long, allOrNothing},
	{"CompareAndSwap", long, compareAndSwap},
	{"LargeTransactions", long, largeTransactions},
	{"RefusedTransactions", long, refusedTransactions},
	{"CancelledCalls", long, cancelledCalls},
}

func conditions(t *testing.T, st Store) {
	created := mustTxn(t, st, puts(1, "/once", "/twice"))
	changed := mustTxn(t, st, puts(2, "/twice"))
	const never, once, twice = "/never", "/once", "/twice"
	for _, tc := range []struct {
		cond store.Cond
		want bool
	}{
		{store.Cond{Key: never, Kind: store.Absent}, true},
		{store.Cond{Key: once, Kind: store.Absent}, false},
		{store.Cond{Key: never, Kind: store.Exists}, false},
		{store.Cond{Key: once, Kind: store.Exists}, true},
		{store.Cond{Key: never, Kind: store.ModAtMost, Revision: changed}, false},
		{store.Cond{Key: once, Kind: store.ModAtMost, Revision: created}, true},
		{store.Cond{Key: once, Kind: store.ModAtMost, Revision: created - 1}, false},
		{store.Cond{Key: twice, Kind: store.ModAtMost, Revision: created}, false},
		{store.Cond{Key: twice, Kind: store.ModAtMost, Revision: changed}, true},
		{store.Cond{Key: twice, Kind: store.ModAtMost, Revision: changed + 1000}, true},
		{store.Cond{Key: never, Kind: store.ModIs, Revision: 0}, true},
		{store.Cond{Key: never, Kind: store.ModIs, Revision: created}, false},
		{store.Cond{Key: once, Kind: store.ModIs, Revision: 0}, false},
		{store.Cond{Key: twice, Kind: store.ModIs, Revision: changed}, true},
		{store.Cond{Key: twice, Kind: store.ModIs, Revision: created}, false},
		{store.Cond{Key: never, Kind: store.CreatedAt, Revision: 0}, false},
		{store.Cond{Key: never, Kind: store.CreatedAt, Revision: created}, false},
		{store.Cond{Key: twice, Kind: store.CreatedAt, Revision: created}, true},
		{store.Cond{Key: twice, Kind: store.CreatedAt, Revision: changed}, false},
	} {
		_, err := st.Txn(patient(t), store.Txn{If: []store.Cond{tc.cond}})
		switch {
		case tc.want && err != nil:
			t.Errorf("%+v: %v, want it to hold", tc.cond, err)
		case !tc.want && !errors.Is(err, store.ErrConflict):
			t.Errorf("%+v: %v, want a conflict", tc.cond, err)
		}
	}
}

func allOrNothing(t *testing.T, st Store) {
	rev := mustTxn(t, st, puts(1, "/a", "/b"))
	txn := puts(2, "/a", "/new")
	txn.Delete = []string{"/b"}
	txn.If = []store.Cond{{Key: "/a", Kind: store.Exists}, {Key: "/b", Kind: store.Absent}}
	if _, err := st.Txn(patient(t), txn); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("one of two conditions is false: %v, want a conflict", err)
	}
	kvs, at := mustList(t, st, "/")
	if at != rev || len(kvs) != 2 || string(kvs[0].Value) != "/a=1" {
		t.Errorf("a transaction that failed left revision %d and %+v", at, kvs)
	}
	txn.If[1].Kind = store.Exists
	rev = mustTxn(t, st, txn)
	kvs, at = mustList(t, st, "/")
	if at != rev || len(kvs) != 2 || string(kvs[0].Value) != "/a=2" || kvs[1].Key != "/new" {
		t.Errorf("after the transaction at %d: %+v at %d", rev, kvs, at)
	}
}

// Many writers count up one key; no step is lost.
func compareAndSwap(t *testing.T, st Store) {
	const writers, steps = 8, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range steps {
				if err := increment(t.Context(), st, "/counter"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := string(mustGet(t, st, "/counter").Value); got != strconv.Itoa(writers*steps) {
		t.Errorf("counted to %s, want %d", got, writers*steps)
	}
}

func increment(ctx context.Context, st store.Store, key string, also ...store.Cond) error {
	for {
		kv, err := st.Get(ctx, key)
		if err != nil {
			return err
		}
		n := 0
		if kv.ModRevision != 0 {
			if n, err = strconv.Atoi(string(kv.Value)); err != nil {
				return err
			}
		}
		_, err = st.Txn(ctx, store.Txn{
			If:  append([]store.Cond{{Key: key, Kind: store.ModIs, Revision: kv.ModRevision}}, also...),
			Put: []store.KV{{Key: key, Value: []byte(strconv.Itoa(n + 1))}},
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func largeTransactions(t *testing.T, st Store) {
	var txn store.Txn
	for i := range store.MaxTxnOps {
		key := fmt.Sprintf("/large/%05d", i)
		txn.Put = append(txn.Put, store.KV{Key: key, Value: []byte(key)})
		// The kind that takes etcd the most comparisons.
		txn.If = append(txn.If, store.Cond{Key: "/", Kind: store.ModAtMost, Revision: 1 << 40})
	}
	if _, err := insist(t, st, txn); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("as many conditions as allowed, none true: %v, want a conflict", err)
	}
	for i := range txn.If {
		txn.If[i].Kind = store.Absent
	}
	rev, err := insist(t, st, txn)
	if err != nil {
		t.Fatal(err)
	}
	b := next(t, st.Watch(patient(t), "/large/", rev))
	if b.Revision != rev || len(b.Changes) != store.MaxTxnOps {
		t.Fatalf("a watch reports %d changes at %d, want %d at %d", len(b.Changes), b.Revision, store.MaxTxnOps, rev)
	}
	for i, c := range b.Changes {
		if c.Key != txn.Put[i].Key {
			t.Fatalf("change %d is of %s, want %s: the order of writing", i, c.Key, txn.Put[i].Key)
		}
	}
	// The largest conditions, with as many writes.
	const half = store.MaxTxnBytes / 2 / store.MaxTxnOps
	for i := range txn.If {
		txn.If[i].Key, txn.If[i].Kind = strings.Repeat("k", half/2), store.ModAtMost
		txn.Put[i].Value = bytes.Repeat([]byte("x"), half-len(txn.Put[i].Key))
	}
	if n := txn.Size(); n != store.MaxTxnBytes {
		t.Fatalf("the transaction has %d bytes, the case wants as many as allowed", n)
	}
	if _, err := insist(t, st, txn); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("as many bytes as allowed, half of them conditions: %v, want a conflict", err)
	}
	big := bytes.Repeat([]byte("x"), store.MaxTxnBytes/4-10)
	txn = store.Txn{}
	for i := range 4 {
		txn.Put = append(txn.Put, store.KV{Key: fmt.Sprintf("/%d", i+1), Value: big})
	}
	if _, err := insist(t, st, txn); err != nil {
		t.Fatal(err)
	}
	if kv := mustGet(t, st, "/4"); !bytes.Equal(kv.Value, big) {
		t.Errorf("a value of %d bytes came back with %d", len(big), len(kv.Value))
	}
}

// insist repeats a transaction that may be repeated: on a machine that is busy enough, etcd gives up large ones after 5 s.
func insist(t *testing.T, st store.Store, txn store.Txn) (int64, error) {
	ctx := patient(t)
	for {
		rev, err := st.Txn(ctx, txn)
		if err == nil || errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return rev, err
		}
	}
}

func refusedTransactions(t *testing.T, st Store) {
	_, before := mustList(t, st, "/")
	many := make([]string, store.MaxTxnOps+1)
	conds := make([]store.Cond, store.MaxTxnOps+1)
	for i := range many {
		many[i] = fmt.Sprintf("/%d", i)
		conds[i] = store.Cond{Key: many[i], Kind: store.Absent}
	}
	for name, txn := range map[string]store.Txn{
		"too many writes":     puts(1, many...),
		"too many deletions":  {Delete: many},
		"too many conditions": {If: conds},
		"too large":           {Put: []store.KV{{Key: "/k", Value: make([]byte, store.MaxTxnBytes)}}},
		"large conditions":    {If: slices.Repeat([]store.Cond{{Key: strings.Repeat("k", 1025), Kind: store.Absent}}, store.MaxTxnOps)},
		"written twice":       puts(1, "/k", "/k"),
		"written and deleted": {Put: []store.KV{{Key: "/k"}}, Delete: []string{"/k"}},
		"no name":             {Put: []store.KV{{}}},
		"unknown condition":   {If: []store.Cond{{Key: "/k", Kind: 99}}},
	} {
		if _, err := st.Txn(patient(t), txn); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if kvs, after := mustList(t, st, "/"); len(kvs) != 0 || after != before {
		t.Errorf("refused transactions wrote %d keys", len(kvs))
	}
}

func cancelledCalls(t *testing.T, st Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getErr := st.Get(ctx, "/k")
	_, _, getAllErr := st.GetAll(ctx, []string{"/k"})
	_, _, listErr := st.List(ctx, "/")
	_, txnErr := st.Txn(ctx, puts(1, "/k"))
	_, campaignErr := st.Campaign(ctx, "nobody")
	for name, err := range map[string]error{"get": getErr, "get all": getAllErr, "list": listErr, "txn": txnErr, "campaign": campaignErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
}
