package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
)

var keyCases = []Case{
	{"Revisions", long, revisions},
	{"List", long, list},
	{"ListMany", long, listMany},
	{"GetAll", long, getAll},
	{"ReadsAreOfOneRevision", long, readsAreOfOneRevision},
	{"Delete", long, deletion},
	{"ValuesAreCopies", long, valuesAreCopies},
}

func revisions(t *testing.T, st Store) {
	if kv := mustGet(t, st, "/k"); kv.Key != "/k" || kv.ModRevision != 0 || kv.CreateRevision != 0 || kv.Value != nil {
		t.Errorf("a key that does not exist: %+v", kv)
	}
	r1 := mustTxn(t, st, puts(1, "/k"))
	r2 := mustTxn(t, st, puts(2, "/k"))
	if r2 != r1+1 {
		t.Errorf("two transactions made revisions %d and %d", r1, r2)
	}
	kv := mustGet(t, st, "/k")
	if string(kv.Value) != "/k=2" || kv.CreateRevision != r1 || kv.ModRevision != r2 {
		t.Errorf("written at %d and %d: %+v", r1, r2, kv)
	}
	if r := mustTxn(t, st, store.Txn{If: []store.Cond{{Key: "/k", Kind: store.Exists}}}); r != r2 {
		t.Errorf("a transaction that writes nothing returned revision %d, the current one is %d", r, r2)
	}
	mustTxn(t, st, store.Txn{Put: []store.KV{{Key: "/empty"}}})
	if kv := mustGet(t, st, "/empty"); kv.ModRevision == 0 || kv.Value != nil {
		t.Errorf("a key with no value: %+v", kv)
	}
}

func list(t *testing.T, st Store) {
	if kvs, rev := mustList(t, st, "/"); len(kvs) != 0 || rev < 1 {
		t.Errorf("an empty store lists %v at revision %d", kvs, rev)
	}
	mustTxn(t, st, puts(1, "/b/2", "/a/x", "/b/10", "/b", "/c", "/b/2/deep"))
	rev := mustTxn(t, st, puts(2, "/b/2"))
	for _, tc := range []struct {
		prefixes, want []string
	}{
		{[]string{"/b/"}, []string{"/b/10", "/b/2", "/b/2/deep"}},
		{[]string{"/b/2"}, []string{"/b/2", "/b/2/deep"}},
		{[]string{"/z"}, nil},
		{[]string{""}, []string{"/a/x", "/b", "/b/10", "/b/2", "/b/2/deep", "/c"}},
		{[]string{"/c", "/z", "/a", "/b/2/"}, []string{"/c", "/a/x", "/b/2/deep"}},
	} {
		kvs, at := mustList(t, st, tc.prefixes...)
		if got := keysOf(kvs); !slices.Equal(got, tc.want) || at != rev {
			t.Errorf("list %q: %v at %d, want %v at %d", tc.prefixes, got, at, tc.want, rev)
		}
		for _, kv := range kvs {
			if want := mustGet(t, st, kv.Key); string(kv.Value) != string(want.Value) || kv.ModRevision != want.ModRevision ||
				kv.CreateRevision != want.CreateRevision {
				t.Errorf("list has %+v, get has %+v", kv, want)
			}
		}
	}
}

// More keys than a store would read in one go.
func listMany(t *testing.T, st Store) {
	const n = 10_100
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("/many/%06d", i))
	}
	for part := range slices.Chunk(keys, 1000) {
		mustTxn(t, st, puts(0, part...))
	}
	if kvs, _ := mustList(t, st, "/many/"); !slices.Equal(keysOf(kvs), keys) {
		t.Errorf("list has %d keys, or in another order; want %d", len(kvs), n)
	}
}

// More keys than a store would read in one go, some of which are not there.
func getAll(t *testing.T, st Store) {
	if kvs, rev, err := st.GetAll(patient(t), nil); err != nil || len(kvs) != 0 || rev < 1 {
		t.Errorf("no keys: %v at %d, %v", kvs, rev, err)
	}
	var keys, odd []string
	for i := range 2001 {
		keys = append(keys, fmt.Sprintf("/all/%d", 2001-i))
		if i%2 == 1 {
			odd = append(odd, keys[i])
		}
	}
	rev := mustTxn(t, st, puts(1, odd...))
	kvs, at, err := st.GetAll(patient(t), keys)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(keysOf(kvs), keys) || at != rev {
		t.Fatalf("got %d keys at %d, or in another order; want %d at %d", len(kvs), at, len(keys), rev)
	}
	for i, kv := range kvs {
		if want := mustGet(t, st, kv.Key); string(kv.Value) != string(want.Value) || kv.ModRevision != want.ModRevision ||
			kv.CreateRevision != want.CreateRevision || (kv.ModRevision != 0) != (i%2 == 1) {
			t.Fatalf("key %d is %+v, alone it is %+v", i, kv, want)
		}
	}
}

// Two keys that are always written together are always seen together, however far apart they are in what is asked for.
func readsAreOfOneRevision(t *testing.T, st Store) {
	mustTxn(t, st, puts(0, "/pair/a", "/pair/b"))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			v := []byte(strconv.Itoa(i))
			if _, err := st.Txn(t.Context(), store.Txn{Put: []store.KV{{Key: "/pair/a", Value: v}, {Key: "/pair/b", Value: v}}}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	apart := slices.Concat([]string{"/pair/a"}, thousand("/none/"), []string{"/pair/b"})
	for range 100 {
		kvs, rev := mustList(t, st, "/pair/")
		if len(kvs) != 2 || kvs[0].ModRevision != kvs[1].ModRevision || kvs[0].ModRevision > rev {
			t.Errorf("list at %d: %+v", rev, kvs)
		}
		kvs, rev = mustList(t, st, "/pair/a", "/none", "/pair/b")
		if len(kvs) != 2 || kvs[0].ModRevision != kvs[1].ModRevision || kvs[0].ModRevision > rev {
			t.Errorf("list of two prefixes at %d: %+v", rev, kvs)
		}
		kvs, rev, err := st.GetAll(t.Context(), apart)
		if err != nil {
			t.Fatal(err)
		}
		if kvs[0].ModRevision != kvs[1001].ModRevision || kvs[0].ModRevision > rev {
			t.Errorf("keys got at %d: %+v, %+v", rev, kvs[0], kvs[1001])
		}
	}
	wg.Wait()
}

func thousand(prefix string) []string {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(i)
	}
	return keys
}

func deletion(t *testing.T, st Store) {
	created := mustTxn(t, st, puts(1, "/k", "/other"))
	deleted := mustTxn(t, st, store.Txn{Delete: []string{"/k", "/never"}})
	if deleted != created+1 {
		t.Errorf("the deletion made revision %d after %d", deleted, created)
	}
	if kv := mustGet(t, st, "/k"); kv.ModRevision != 0 {
		t.Errorf("a deleted key: %+v", kv)
	}
	if kv := mustGet(t, st, "/other"); kv.ModRevision != created {
		t.Errorf("another key was changed: %+v", kv)
	}
	if rev := mustTxn(t, st, store.Txn{Delete: []string{"/k"}}); rev != deleted {
		t.Errorf("deleting nothing made revision %d after %d", rev, deleted)
	}
	again := mustTxn(t, st, puts(2, "/k"))
	if kv := mustGet(t, st, "/k"); kv.CreateRevision != again {
		t.Errorf("a key created anew at %d: %+v", again, kv)
	}
	w := st.Watch(patient(t), "/", created)
	b := next(t, w)
	if b.Revision != created || len(b.Changes) != 2 {
		t.Errorf("the creation: %+v", b)
	}
	b = next(t, w)
	if b.Revision != deleted || len(b.Changes) != 1 {
		t.Fatalf("the deletion at %d: %+v", deleted, b)
	}
	c := b.Changes[0]
	if !c.Deleted || c.Key != "/k" || c.Value != nil || c.ModRevision != deleted || c.CreateRevision != 0 {
		t.Errorf("the deletion at %d: %+v", deleted, c)
	}
	if b = next(t, w); b.Revision != again || b.Changes[0].Deleted || b.Changes[0].CreateRevision != again {
		t.Errorf("the creation anew at %d: %+v", again, b)
	}
}

func valuesAreCopies(t *testing.T, st Store) {
	value := []byte("original")
	rev := mustTxn(t, st, store.Txn{Put: []store.KV{{Key: "/k", Value: value}}})
	spoil := func(b []byte) { copy(b, "spoiled!") }
	spoil(value)
	w1, w2 := st.Watch(patient(t), "/k", rev), st.Watch(patient(t), "/k", rev)
	spoil(next(t, w1).Changes[0].Value)
	kvs, _ := mustList(t, st, "/k")
	spoil(kvs[0].Value)
	spoil(mustGet(t, st, "/k").Value)
	if got := next(t, w2).Changes[0].Value; string(got) != "original" {
		t.Errorf("a watch reports %q", got)
	}
	if got := mustGet(t, st, "/k").Value; string(got) != "original" {
		t.Errorf("get returns %q", got)
	}
}
