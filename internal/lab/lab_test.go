package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(makerVariable); dir != "" {
		makeAndWait(dir)
	}
	labtest.Main(m)
}

// makerVariable makes this test program a maker of a lab in that directory, which then waits to be killed.
const makerVariable = "HOLDFAST_TEST_MAKE_LAB"

func makeAndWait(dir string) {
	if _, err := lab.Up(context.Background(), lab.Options{Dir: dir, Hosts: 2, Cache: os.Getenv("HOLDFAST_TEST_CACHE")}); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("up")
	select {}
}

// traces are what a lab may leave on a machine: processes, network interfaces and namespaces, mounts.
func traces(t *testing.T) []string {
	t.Helper()
	var found []string
	cmdlines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range cmdlines {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		args := strings.Split(string(text), "\x00")
		for _, name := range []string{"holdfast-lab-", "libvirtd", "qemu-system"} {
			if strings.HasPrefix(filepath.Base(args[0]), name) {
				found = append(found, "process "+strings.Join(args, " "))
			}
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		found = append(found, "link "+l.Name)
	}
	spaces, err := os.ReadDir("/run/netns")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, s := range spaces {
		found = append(found, "namespace "+s.Name())
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		found = append(found, "mount "+strings.TrimSpace(line))
	}
	return found
}

// ours keeps the traces of the lab in dir; other labs come and go on this machine meanwhile.
func ours(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(traces(t), func(s string) bool { return !strings.Contains(s, dir) })
}

func newDir(t *testing.T) string {
	t.Helper()
	labtest.Require(t)
	dir := filepath.Join(t.TempDir(), "lab")
	t.Cleanup(func() {
		if err := lab.Down(context.WithoutCancel(t.Context()), dir); err != nil {
			t.Errorf("take the lab down: %v", err)
		}
	})
	return dir
}

func TestDownLeavesNothing(t *testing.T) {
	dir := newDir(t)
	guest := labtest.Guest(t)
	l, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 2, Prefix: "kvm-", Cache: labtest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := l.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{hosts[0].Name, hosts[1].Name}; !slices.Equal(got, []string{"kvm-1", "kvm-2"}) {
		t.Errorf("hosts are named %v", got)
	}
	startGuest(t, l, guest, hosts[0], "left", "")
	bridge, processes := bridgeOf(t, l), processesOf(t, hosts)
	if len(processes) < 5 {
		t.Fatalf("two hosts with a guest are only %d processes", len(processes))
	}

	if _, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1}); !errors.Is(err, lab.ErrExists) {
		t.Errorf("a second lab in the same directory: %v, want %v", err, lab.ErrExists)
	}

	// The second time there is nothing to do.
	for range 2 {
		if err := l.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustBeGone(t, dir, bridge, processes)
	}
	if _, err := lab.Open(dir); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("open after down: %v, want %v", err, lab.ErrNoLab)
	}
}

func TestDownAfterMakerWasKilled(t *testing.T) {
	for _, tt := range []struct {
		name string
		// ready is what must be there when the maker is killed.
		ready func(dir string, said string) bool
	}{
		{"when up", func(_, said string) bool { return strings.Contains(said, "up\n") }},
		{"half way", func(dir, _ string) bool {
			return exists(filepath.Join(dir, "hosts", "host1", "var-log-libvirt", "libvirtd.log"))
		}},
		{"at the start", func(dir, _ string) bool { return exists(filepath.Join(dir, "lab.json")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newDir(t)
			var said lockedBuffer
			maker := exec.Command(os.Args[0])
			maker.Env = append(os.Environ(), makerVariable+"="+dir, "HOLDFAST_TEST_CACHE="+labtest.Cache(t))
			maker.Stdout, maker.Stderr = &said, &said
			if err := maker.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the maker has come so far", func() bool { return tt.ready(dir, said.String()) })
			if err := maker.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = maker.Wait()

			bridge := ""
			if l, err := lab.Open(dir); err == nil {
				bridge = bridgeOf(t, l)
			} else if tt.name == "when up" {
				t.Errorf("a lab outlives its maker: %v", err)
			}
			if err := lab.Down(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			mustBeGone(t, dir, bridge, nil)
		})
	}
}

func TestUpClearsDeadLab(t *testing.T) {
	dir := newDir(t)
	options := lab.Options{Dir: dir, Hosts: 1, Cache: labtest.Cache(t)}
	l, err := lab.Up(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	before, err := l.Host("host1")
	if err != nil {
		t.Fatal(err)
	}
	// As after a reboot of the machine: the files are there, the bridge is not.
	if out, err := exec.Command("ip", "link", "del", bridgeOf(t, l)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := lab.Open(dir); !errors.Is(err, lab.ErrDead) {
		t.Errorf("open a lab without its bridge: %v, want %v", err, lab.ErrDead)
	}
	l, err = lab.Up(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.Host("host1")
	if err != nil {
		t.Fatal(err)
	}
	if after.UUID != before.UUID {
		t.Errorf("the host's UUID is %s, and was %s", after.UUID, before.UUID)
	}
	if after.PID == before.PID || after.BootID == before.BootID {
		t.Errorf("the host of the dead lab lives on: %+v", after)
	}
}

func TestLabsSideBySide(t *testing.T) {
	one, other := newDir(t), newDir(t)
	errs := make(chan error, 2)
	for _, dir := range []string{one, other} {
		go func() {
			_, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1, Cache: labtest.Cache(t)})
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if err := lab.Down(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Host("host1")
	if err != nil {
		t.Fatal(err)
	}
	if h.State != lab.On {
		t.Errorf("the other lab's host is %s", h.State)
	}
	connect(t, h)
}

func TestOptions(t *testing.T) {
	labtest.Require(t)
	for _, tt := range []struct {
		options lab.Options
		want    string
	}{
		{lab.Options{Dir: "/tmp/x", Hosts: 0}, "0 hosts: a lab has 1 to 64"},
		{lab.Options{Dir: "/tmp/x", Hosts: 65}, "65 hosts"},
		{lab.Options{Dir: "x", Hosts: 1}, "absolute path"},
		{lab.Options{Dir: "/run/x", Hosts: 1}, "below /run"},
		{lab.Options{Dir: "/var/lib/libvirt", Hosts: 1}, "below /var/lib/libvirt"},
		{lab.Options{Dir: "/tmp/x", Hosts: 1, Prefix: "Host_"}, "lower-case"},
	} {
		if _, err := lab.Up(t.Context(), tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want an error with %q", tt.options, err, tt.want)
		}
	}
}

func TestUnknownHostIsNamed(t *testing.T) {
	l := labtest.Shared(t, 2)
	err := l.PowerOff(t.Context(), "host9")
	if !errors.Is(err, lab.ErrNoHost) || !strings.Contains(err.Error(), "host1, host2") {
		t.Errorf("power off an unknown host: %v", err)
	}
}

// bridgeOf is the name of the lab's bridge, found by the machine's address in it.
func bridgeOf(t *testing.T, l *lab.Lab) string {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		addrs, _ := link.Addrs()
		for _, a := range addrs {
			if strings.HasPrefix(a.String(), l.Gateway()+"/") {
				return link.Name
			}
		}
	}
	t.Fatalf("no link has the lab's address %s", l.Gateway())
	return ""
}

// processesOf are all processes in the hosts' PID namespaces, with the time when each began.
func processesOf(t *testing.T, hosts []lab.Host) map[string]string {
	t.Helper()
	found := map[string]string{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", h.PID))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if s, err := os.Readlink(dir + "/ns/pid"); err == nil && s == space {
				found[dir] = began(dir)
			}
		}
	}
	return found
}

// began is when the process of that directory in /proc began; empty when it is gone. It tells a process from a later one of the
// same number.
func began(dir string) string {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[19]
}

func mustBeGone(t *testing.T, dir, bridge string, processes map[string]string) {
	t.Helper()
	for _, trace := range ours(t, dir) {
		t.Errorf("left behind: %s", trace)
	}
	for _, trace := range traces(t) {
		if bridge != "" && (trace == "link "+bridge || strings.HasPrefix(trace, "link "+bridge+"-")) {
			t.Errorf("left behind: %s", trace)
		}
	}
	for dir, when := range processes {
		if began(dir) == when {
			t.Errorf("left behind: process %s", dir)
		}
	}
	if exists(dir) {
		t.Errorf("left behind: %s", dir)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
