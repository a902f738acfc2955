package etcd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

func mustTxn(t *testing.T, st store.Store, txn store.Txn) int64 {
	t.Helper()
	rev, err := st.Txn(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func put(key string, size int) store.Txn {
	return store.Txn{Put: []store.KV{{Key: key, Value: make([]byte, size)}}}
}

func mustClose(t *testing.T, st store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListensNowhere(t *testing.T) {
	before := listening(t)
	st := start(t, etcd.Options{Dir: t.TempDir()})
	defer mustClose(t, st)
	if after := listening(t); after != before {
		t.Errorf("sockets on which this process listens: %q, before etcd %q", after, before)
	}
}

// listening is the inodes of this process's sockets that accept connections, TCP and unix.
func listening(t *testing.T) string {
	t.Helper()
	accepts := map[string]bool{}
	for file, field := range map[string]struct {
		state, inode int
		listen       string
	}{
		"/proc/self/net/tcp":  {3, 9, "0A"},
		"/proc/self/net/tcp6": {3, 9, "0A"},
		"/proc/self/net/unix": {3, 6, "00010000"},
	} {
		b, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > max(field.state, field.inode) && f[field.state] == field.listen {
				accepts["socket:["+f[field.inode]+"]"] = true
			}
		}
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && accepts[to] {
			ours = append(ours, to)
		}
	}
	return strings.Join(ours, " ")
}

func TestRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	st := start(t, etcd.Options{Dir: dir, TTL: long})
	rev := mustTxn(t, st, put("/k", 1))
	term, err := st.Campaign(t.Context(), "before")
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, st)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory: %v, %v", info.Mode(), err)
	}

	st = start(t, etcd.Options{Dir: dir, TTL: long})
	defer mustClose(t, st)
	if kv, err := st.Get(t.Context(), "/k"); err != nil || kv.ModRevision != rev {
		t.Errorf("after a restart: %+v, %v", kv, err)
	}
	// The leader before did not resign, and its lease is long. It is dead all the same.
	if _, err := st.Campaign(t.Context(), "after"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Txn(t.Context(), store.Txn{If: []store.Cond{term.Fence()}}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the fence of the term before the restart: %v, want a conflict", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]etcd.Options{
		"no directory": {},
		"short lease":  {Dir: t.TempDir(), TTL: time.Second},
		"odd lease":    {Dir: t.TempDir(), TTL: 2500 * time.Millisecond},
		"not a place":  {Dir: "/proc/nowhere"},
		"already a file": {Dir: func() string {
			f := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(f, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return f
		}()},
	} {
		if st, err := etcd.StartEmbedded(t.Context(), o); err == nil {
			t.Errorf("%s: started", name)
			mustClose(t, st)
		}
	}
}

// A full store refuses writes with ErrNoSpace, still deletes, and takes writes again once there is room.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	o := etcd.Options{Dir: t.TempDir(), Quota: 16 << 20}
	st := start(t, o)
	defer func() { mustClose(t, st) }()
	keys := fill(t, st, "/first/")
	if _, err := st.Txn(t.Context(), put("/small", 1)); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("a write to the full store: %v, want ErrNoSpace", err)
	}
	// Maintenance finds some space; when it is used up, none.
	for round := 0; ; round++ {
		if err := etcd.Maintain(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		more := fill(t, st, fmt.Sprintf("/more/%d/", round))
		if keys = append(keys, more...); len(more) == 0 {
			break
		}
	}
	mustTxn(t, st, store.Txn{Delete: keys})
	if err := etcd.Maintain(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	mustTxn(t, st, put("/small", 1))

	// The same by a restart with a larger quota; etcd may have written well over the small one before it noticed.
	fill(t, st, "/again/")
	mustClose(t, st)
	o.Quota = etcd.DefaultQuota
	st = start(t, o)
	mustTxn(t, st, put("/large", 1<<20))
}

// fill writes until the store is full and returns what it wrote.
func fill(t *testing.T, st store.Store, prefix string) []string {
	t.Helper()
	for keys := []string(nil); len(keys) < 1000; {
		key := fmt.Sprintf("%s%d", prefix, len(keys))
		_, err := st.Txn(t.Context(), put(key, 256<<10))
		if errors.Is(err, store.ErrNoSpace) {
			return keys
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	t.Fatal("the store is never full")
	return nil
}

// A file that is mostly empty is rewritten.
func TestDefragmentation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := start(t, etcd.Options{Dir: dir})
	defer mustClose(t, st)
	var keys []string
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("/%d", i))
		mustTxn(t, st, put(keys[i], 4<<20))
	}
	rev := mustTxn(t, st, store.Txn{Delete: keys})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "member", "snap", "db"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := etcd.Maintain(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	full := size() // at the least: what is not committed yet comes on top
	if err := st.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	// Pages that one commit freed count as free from the next one on.
	for i := 0; i < 10 && size() >= full; i++ {
		mustTxn(t, st, put("/small", 1))
		if err := etcd.Maintain(t.Context(), st); err != nil {
			t.Fatal(err)
		}
	}
	if now := size(); now > full/4 {
		t.Errorf("the file has %d bytes with everything deleted, had %d before", now, full)
	}
}
