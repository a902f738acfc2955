package etcd_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func TestRestore(t *testing.T) {
	t.Parallel()
	st := start(t, etcd.Options{Dir: t.TempDir()})
	old := mustTxn(t, st, put("/k", 10))
	if _, err := st.Campaign(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := st.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	after := mustTxn(t, st, put("/lost", 1))
	mustClose(t, st)

	dir := filepath.Join(t.TempDir(), "restored")
	if err := etcd.Restore(backup, dir); err != nil {
		t.Fatal(err)
	}
	st = start(t, etcd.Options{Dir: dir, TTL: long})
	defer func() { mustClose(t, st) }()
	kvs, rev, err := st.List(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	if len(kvs) != 1 || kvs[0].Key != "/k" || len(kvs[0].Value) != 10 || kvs[0].ModRevision != old {
		t.Errorf("restored %+v", kvs)
	}
	if rev <= after {
		t.Errorf("after the restore the revision is %d; clients have seen %d", rev, after)
	}
	if b := <-st.Watch(t.Context(), "/", after+1); !errors.Is(b.Err, store.ErrCompacted) {
		t.Errorf("a client that carries on from before the restore gets %+v, want ErrCompacted", b)
	}
	if _, err := st.Campaign(t.Context(), "after"); err != nil {
		t.Fatal(err)
	}
	if leaders, _, err := st.List(t.Context(), layout.Leader); err != nil || len(leaders) != 1 || string(leaders[0].Value) != "after" {
		t.Errorf("leaders: %+v, %v", leaders, err)
	}
	if err := etcd.Restore(backup, dir); err == nil {
		t.Error("restored over a directory in use")
	}
	// What was restored starts again as any other.
	last := mustTxn(t, st, put("/new", 1))
	mustClose(t, st)
	st = start(t, etcd.Options{Dir: dir})
	if kv, err := st.Get(t.Context(), "/new"); err != nil || kv.ModRevision != last {
		t.Errorf("%+v, %v", kv, err)
	}
}

func TestRestoreRefusesADamagedBackup(t *testing.T) {
	t.Parallel()
	st := start(t, etcd.Options{Dir: t.TempDir()})
	mustTxn(t, st, put("/k", 10))
	backup := filepath.Join(t.TempDir(), "backup.db")
	err := st.Backup(t.Context(), backup)
	mustClose(t, st)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(backup, b, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := etcd.Restore(backup, dir); err == nil {
		t.Error("restored a damaged backup")
	}
	if err := etcd.Restore(backup+".not", dir); err == nil {
		t.Error("restored a backup that does not exist")
	}
}
