// Package labtest gives tests a lab and a guest. It decides what a test does on a machine that cannot run a lab: where packages
// are missing that could be installed, or root is, it fails and says what to do; only where it cannot be helped it is skipped.
package labtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/lab"
)

// SkipVariable, set to anything, skips the tests that need a lab, on purpose and loudly.
const SkipVariable = "HOLDFAST_SKIP_LAB"

// Require ends the test unless this machine can run a lab. With -short it skips the test, whatever the machine can.
func Require(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short leaves out what needs a lab")
	}
	if os.Getenv(SkipVariable) != "" {
		t.Skipf("SKIPPED, NOT TESTED: %s is set, so nothing that needs a lab is tested", SkipVariable)
	}
	err := lab.Check()
	if err == nil {
		return
	}
	if _, noApt := exec.LookPath("apt-get"); noApt != nil && os.Geteuid() == 0 {
		t.Skipf("SKIPPED, NOT TESTED: packages cannot be installed here, this is no Debian: %v", err)
	}
	t.Fatalf("this test runs real libvirt hosts and cannot here (set %s=1 to skip such tests): %v", SkipVariable, err)
}

// Files are what the test guest boots from.
type Files struct{ Kernel, Initrd string }

// Cmdline is the kernel command line of a test guest, to which words of its own (hf.off=3) may be added. Without no_timer_check a
// kernel that is emulated on a busy machine now and then panics early in its boot, because a timer seems not to work; with KVM
// kernels leave that check out by themselves.
const Cmdline = "console=ttyS0 quiet no_timer_check"

// Guest returns the test guest, built first when it is not there yet. It ends the test where Require does.
func Guest(t testing.TB) Files {
	t.Helper()
	Require(t)
	root := repository(t)
	dir := os.Getenv("GUEST_DIR")
	if dir == "" {
		dir = filepath.Join(root, ".cache", "guest")
	}
	// The script locks, and does nothing when there is nothing to do.
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "guest.sh"))
	cmd.Env = append(os.Environ(), "GUEST_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the test guest: %v\n%s", err, out)
	}
	return Files{Kernel: filepath.Join(dir, "vmlinuz"), Initrd: filepath.Join(dir, "initrd")}
}

// Cache is where labs of tests keep what is slow to find out.
func Cache(t testing.TB) string { return filepath.Join(repository(t), ".cache", "lab") }

func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test does not run inside the repository: no go.mod above it")
		}
		dir = filepath.Dir(dir)
	}
}

var shared struct {
	sync.Mutex
	lab *lab.Lab
	// dir holds the lab; owner is a lock on it that lasts as long as this process.
	dir   string
	owner *os.File
}

// Shared returns the lab of this test process, made by the first call, with all hosts on, plugged in and thawed. Later calls
// may not ask for more hosts than the first. The package's TestMain must be Main, which takes the lab down. Tests that share it
// use hosts and guests side by side and clean up after themselves.
func Shared(t testing.TB, hosts int) *lab.Lab {
	t.Helper()
	Require(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.lab == nil {
		if err := up(hosts, Cache(t)); err != nil {
			t.Fatalf("bring up a lab: %v", err)
		}
	}
	l := shared.lab
	all, err := l.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < hosts {
		t.Fatalf("the shared lab has %d hosts: let the first caller of labtest.Shared ask for %d", len(all), hosts)
	}
	for _, h := range all {
		if err := heal(t.Context(), l, h); err != nil {
			t.Fatalf("heal host %s of the shared lab: %v", h.Name, err)
		}
	}
	return l
}

func heal(ctx context.Context, l *lab.Lab, h lab.Host) error {
	if h.State == lab.Off {
		return l.PowerOn(ctx, h.Name)
	}
	return errors.Join(l.Plug(ctx, h.Name), l.Thaw(h.Name))
}

// Main runs a package's tests and takes the shared lab down: func TestMain(m *testing.M) { labtest.Main(m) }.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for those who have more to clean up; it returns the exit status.
func Run(m *testing.M) int {
	code := m.Run()
	if err := down(); err != nil {
		fmt.Fprintln(os.Stderr, "take the shared lab down:", err)
		code = 1
	}
	return code
}

const dirPattern = "holdfast-labtest-"

func up(hosts int, cache string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	// One at a time: a directory is made and locked in one step, seen from sweep.
	gate, err := os.OpenFile(filepath.Join(os.TempDir(), dirPattern+"gate"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer gate.Close()
	if err := syscall.Flock(int(gate.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := sweep(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return err
	}
	owner, err := own(dir)
	if err != nil {
		return err
	}
	_ = gate.Close()
	l, err := lab.Up(ctx, lab.Options{Dir: dir, Hosts: hosts, Cache: cache})
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	shared.lab, shared.dir, shared.owner = l, dir, owner
	return nil
}

// own locks dir for this process; it fails when the process that made dir lives.
func own(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sweep takes down the labs of test processes that were killed.
func sweep(ctx context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if strings.HasSuffix(dir, "gate") {
			continue
		}
		owner, err := own(dir)
		if err != nil {
			continue
		}
		err = errors.Join(lab.Down(ctx, dir), os.RemoveAll(dir))
		_ = owner.Close()
		if err != nil {
			return fmt.Errorf("take down the lab of a killed test: %w", err)
		}
	}
	return nil
}

func down() error {
	if shared.lab == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(shared.lab.Down(ctx), os.RemoveAll(shared.dir), shared.owner.Close())
}
