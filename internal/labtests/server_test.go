package labtests

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

// binary is the path of the server under test, which the first call builds: with the race detector when the tests are.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(directory, "holdfast")
	cmd := exec.Command("go", append(append([]string{"build"}, raceFlag...), "-o", path, "github.com/holdfast-vm/holdfast/cmd/holdfast")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server under test: %w\n%s", err, out)
	}
	return path, nil
})

// directory of this run of the tests.
var directory string

func TestMain(m *testing.M) {
	var err error
	if directory, err = os.MkdirTemp("", "holdfast-labtests"); err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the tests:", err)
		os.Exit(1)
	}
	code := labtest.Run(m)
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

// soak multiplies what is sampled: HOLDFAST_SOAK is set by "make soak".
func soak() bool { return os.Getenv("HOLDFAST_SOAK") != "" }

// seed of what is random in a test; HOLDFAST_SEED replays one.
func seed(t *testing.T) uint64 {
	s := uint64(time.Now().UnixNano())
	if v := os.Getenv("HOLDFAST_SEED"); v != "" {
		var err error
		if s, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("HOLDFAST_SEED: %v", err)
		}
	}
	t.Logf("seed %d; replay with HOLDFAST_SEED=%d", s, s)
	return s
}

// server is a Holdfast server that may be killed and started again on the same data.
type server struct {
	t      *testing.T
	dir    string
	socket string
	client *client.Client
	cmd    *exec.Cmd
	log    bytes.Buffer
}

func newServer(t *testing.T) *server {
	dir := t.TempDir()
	s := &server{t: t, dir: dir, socket: filepath.Join(dir, "hf.sock")}
	s.client = client.New(s.socket)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server's log:\n%s", tail(s.log.String(), 80))
		}
	})
	s.start()
	return s
}

// start starts the server and waits until it serves.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(binary(s.t), "server", "--data-dir", filepath.Join(s.dir, "data"), "--socket", s.socket)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the server serves", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return s.client.Ready(ctx) == nil
	})
}

// kill ends the server with SIGKILL and waits until it is gone. A dead one stays dead.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.cmd.Wait()
	s.cmd = nil
}

// eventually polls until cond holds. It says what did not come true after two minutes: long enough for a busy machine.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("it has not come true within two minutes that %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func tail(s string, lines int) string {
	all := bytes.Split([]byte(s), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
