package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
)

var closeCases = []Case{
	{"Backup", long, backup},
	{"Close", long, closing},
}

func backup(t *testing.T, st Store) {
	mustTxn(t, st, puts(1, "/k"))
	path := filepath.Join(t.TempDir(), "backup")
	for range 2 { // the second replaces the first
		if err := st.Backup(patient(t), path); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has %d bytes and mode %v", info.Size(), info.Mode())
	}
	if others, _ := filepath.Glob(path + "?*"); others != nil {
		t.Errorf("left behind: %v", others)
	}
	if err := st.Backup(patient(t), filepath.Join(path, "nowhere")); err == nil {
		t.Error("a backup below a file succeeded")
	}
}

func closing(t *testing.T, st Store) {
	term := mustLead(t, t.Context(), st, "me")
	watch := st.Watch(t.Context(), "/", 1)
	next(t, watch) // the leader's key
	stood := make(chan error)
	go func() {
		_, err := st.Campaign(t.Context(), "waiting")
		stood <- err
	}()
	for range 2 {
		if err := st.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	isOver(t, term)
	if err := <-stood; !errors.Is(err, store.ErrClosed) {
		t.Errorf("a campaign under way: %v, want ErrClosed", err)
	}
	var last store.Batch
	for last = range watch {
	}
	if !errors.Is(last.Err, store.ErrClosed) {
		t.Errorf("a watch under way ended with %v, want ErrClosed", last.Err)
	}
	_, getErr := st.Get(t.Context(), "/k")
	_, _, getAllErr := st.GetAll(t.Context(), []string{"/k"})
	_, _, listErr := st.List(t.Context(), "/")
	_, txnErr := st.Txn(t.Context(), puts(1, "/k"))
	_, campaignErr := st.Campaign(t.Context(), "late")
	for name, err := range map[string]error{
		"get": getErr, "get all": getAllErr, "list": listErr, "txn": txnErr, "campaign": campaignErr,
		"watch":  next(t, st.Watch(t.Context(), "/", 1)).Err,
		"backup": st.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")),
		"resign": term.Resign(t.Context()),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}
