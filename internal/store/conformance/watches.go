package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
)

var watchCases = []Case{
	{"WatchReportsEveryRevisionOnce", long, watchReportsAll},
	{"WatchContinuesAList", long, watchContinuesAList},
	{"WatchOnlyItsPrefix", long, watchOnlyItsPrefix},
	{"SlowReader", long, slowReader},
	{"WatchEndsWithItsContext", long, watchEndsWithItsContext},
	{"Compacted", long, compacted},
}

// Several writers, watches from before, amid and after: each sees one batch for each revision, in order, with all its changes.
func watchReportsAll(t *testing.T, st Store) {
	const writers, each = 4, 60
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	_, start := mustList(t, st, "/")
	live := st.Watch(ctx, "/w/", start+1)

	var mu sync.Mutex
	wrote := map[int64][]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				keys := []string{fmt.Sprintf("/w/%d", w), "/w/all", fmt.Sprintf("/w/%d/%d", w, i)}
				rev, err := st.Txn(ctx, puts(i, keys...))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				wrote[rev] = keys
				mu.Unlock()
			}
		})
	}
	amid := next(t, live).Revision
	midway := st.Watch(ctx, "/w/", amid)
	wg.Wait()
	if len(wrote) != writers*each {
		t.Fatalf("%d transactions made %d revisions", writers*each, len(wrote))
	}
	for name, w := range map[string]<-chan store.Batch{"from the start, live": live, "from amid": midway, "afterwards": st.Watch(ctx, "/w/", start+1)} {
		from := start + 1
		switch w {
		case live:
			from = amid + 1
		case midway:
			from = amid
		}
		for rev := from; rev <= start+writers*each; rev++ {
			b := next(t, w)
			var keys []string
			for _, c := range b.Changes {
				keys = append(keys, c.Key)
			}
			if b.Err != nil || b.Revision != rev || !slices.Equal(keys, wrote[rev]) {
				t.Fatalf("%s: got revision %d with %v (%v), want %d with %v", name, b.Revision, keys, b.Err, rev, wrote[rev])
			}
		}
	}
}

// A list and a watch from the revision after it miss nothing and repeat nothing.
func watchContinuesAList(t *testing.T, st Store) {
	before := mustTxn(t, st, puts(1, "/k"))
	kvs, rev := mustList(t, st, "/k")
	if len(kvs) != 1 || rev != before {
		t.Fatalf("list: %+v at %d, want one at %d", kvs, rev, before)
	}
	w := st.Watch(patient(t), "/k", rev+1)
	after := mustTxn(t, st, puts(2, "/k"))
	b := next(t, w)
	if b.Revision != after || len(b.Changes) != 1 || string(b.Changes[0].Value) != "/k=2" || b.Changes[0].CreateRevision != before {
		t.Errorf("the first batch after the list: %+v, want revision %d", b, after)
	}
	// A revision that is not there yet.
	w = st.Watch(patient(t), "/k", after+2)
	mustTxn(t, st, puts(3, "/k"))
	last := mustTxn(t, st, puts(4, "/k"))
	if b := next(t, w); b.Revision != last {
		t.Errorf("a watch from the future begins at %d, want %d", b.Revision, last)
	}
}

func watchOnlyItsPrefix(t *testing.T, st Store) {
	w := st.Watch(patient(t), "/in/", 1)
	everything := st.Watch(patient(t), "", 1)
	r1 := mustTxn(t, st, puts(1, "/out/1", "/in/1", "/in", "/in/2"))
	r2 := mustTxn(t, st, puts(2, "/out/1"))
	r3 := mustTxn(t, st, puts(3, "/in/3"))
	if b := next(t, w); b.Revision != r1 || len(b.Changes) != 2 || b.Changes[0].Key != "/in/1" || b.Changes[1].Key != "/in/2" {
		t.Errorf("at %d: %+v", r1, b)
	}
	if b := next(t, w); b.Revision != r3 || len(b.Changes) != 1 {
		t.Errorf("at %d: %+v", r3, b)
	}
	for _, rev := range []int64{r1, r2, r3} {
		if b := next(t, everything); b.Revision != rev {
			t.Errorf("a watch of everything reports %d, want %d", b.Revision, rev)
		}
	}
}

// A watch that nobody reads holds up neither writers nor other watches, and gets everything in the end.
func slowReader(t *testing.T, st Store) {
	const n = 300
	_, rev := mustList(t, st, "/")
	slow, quick := st.Watch(patient(t), "/s/", rev+1), st.Watch(patient(t), "/s/", rev+1)
	for i := range n {
		mustTxn(t, st, puts(i, "/s/k"))
	}
	for name, w := range map[string]<-chan store.Batch{"quick": quick, "slow": slow} {
		for i := range n {
			if b := next(t, w); b.Err != nil || b.Revision != rev+1+int64(i) {
				t.Fatalf("the %s reader got %d (%v) as batch %d", name, b.Revision, b.Err, i)
			}
		}
	}
}

func watchEndsWithItsContext(t *testing.T, st Store) {
	ctx, cancel := context.WithCancel(t.Context())
	idle, unread := st.Watch(ctx, "/idle/", 1), st.Watch(ctx, "/k", 1)
	mustTxn(t, st, puts(1, "/k"))
	next(t, unread)
	mustTxn(t, st, puts(2, "/k"))
	cancel()
	mustEnd(t, idle, "an idle watch whose context ended")
	for b := range unread { // what was under way may still come, but no error
		if b.Err != nil {
			t.Errorf("a watch whose context ended reports %v", b.Err)
		}
	}
}

func compacted(t *testing.T, st Store) {
	first := mustTxn(t, st, puts(1, "/k"))
	idle := st.Watch(patient(t), "/idle/", first)
	for i := range 5 {
		mustTxn(t, st, puts(i, "/k"))
	}
	kvs, rev := mustList(t, st, "/k")
	caughtUp := st.Watch(patient(t), "/idle/", rev+1)
	mark := mustTxn(t, st, puts(1, "/idle/mark"))
	next(t, idle)
	next(t, caughtUp)
	if err := st.Compact(patient(t), mark); err != nil {
		t.Fatal(err)
	}
	old := st.Watch(patient(t), "/k", first)
	if b := next(t, old); !errors.Is(b.Err, store.ErrCompacted) {
		t.Errorf("a watch from what was compacted: %+v, want ErrCompacted", b)
	}
	mustEnd(t, old, "a watch after its error")

	if again, at := mustList(t, st, "/k"); len(again) != 1 || again[0].ModRevision != kvs[0].ModRevision || at != mark {
		t.Errorf("compaction changed %+v at %d to %+v at %d", kvs, rev, again, at)
	}
	fresh := st.Watch(patient(t), "/idle/", mark+1)
	last := mustTxn(t, st, puts(2, "/idle/mark"))
	for name, w := range map[string]<-chan store.Batch{"under way": idle, "caught up": caughtUp, "from after it": fresh} {
		if b := next(t, w); b.Err != nil || b.Revision != last {
			t.Errorf("compaction disturbed a watch %s: %+v", name, b)
		}
	}
}
