package etcd_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

// victimDir is set in the process that TestKill kills.
const victimDir = "HOLDFAST_TEST_VICTIM_DIR"

// A process that uses a directory keeps others out, by name; after kill -9 of it, all that it was told is written is there, and
// the next one leads at once.
func TestKill(t *testing.T) {
	if dir := os.Getenv(victimDir); dir != "" {
		writeUntilKilled(t, dir)
	}
	t.Parallel()
	dir := t.TempDir()
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$", "-test.v")
	victim.Env = append(os.Environ(), victimDir+"="+dir)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	var told []string
	lines := bufio.NewScanner(out)
	for len(told) < 500 && lines.Scan() {
		if key, ok := strings.CutPrefix(lines.Text(), "wrote "); ok {
			told = append(told, key)
		}
		if len(told) == 100 {
			_, err := etcd.StartEmbedded(t.Context(), etcd.Options{Dir: dir})
			if want := fmt.Sprintf("used by another process (pid %d)", victim.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a second process in the directory: %v, want %q", err, want)
			}
		}
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if key, ok := strings.CutPrefix(lines.Text(), "wrote "); ok {
			told = append(told, key)
		}
	}
	if len(told) < 500 {
		t.Fatalf("the victim ended after %d writes: %s", len(told), lines.Text())
	}

	st := start(t, etcd.Options{Dir: dir, TTL: long})
	defer mustClose(t, st)
	for _, key := range told {
		if kv, err := st.Get(t.Context(), key); err != nil || kv.ModRevision == 0 {
			t.Errorf("%s was confirmed and is lost (%v)", key, err)
		}
	}
	if _, err := st.Campaign(t.Context(), "next"); err != nil {
		t.Fatal(err)
	}
}

func writeUntilKilled(t *testing.T, dir string) {
	st := start(t, etcd.Options{Dir: dir, TTL: long})
	term, err := st.Campaign(t.Context(), "victim")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		txn := put(fmt.Sprintf("/written/%d", i), 100)
		txn.If = []store.Cond{term.Fence()}
		mustTxn(t, st, txn)
		fmt.Println("wrote", txn.Put[0].Key)
	}
}
