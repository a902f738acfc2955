package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one process of this machine, as /proc shows it.
type process struct {
	pid, parent int
	// name is the kernel's short name; state its one-letter state: 'T' is stopped.
	name  string
	state byte
	args  []string
	// space is the PID namespace, as its link under /proc reads.
	space string
}

// processes lists the machine's processes without the dead ones that wait to be reaped. One that ends meanwhile is left out.
func processes() ([]process, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, dir := range dirs {
		if p, ok := readProcess(dir); ok && p.state != 'Z' && p.state != 'X' {
			all = append(all, p)
		}
	}
	return all, nil
}

func readProcess(dir string) (process, bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return process{}, false
	}
	// "pid (name) state ppid …": the name may hold blanks and brackets.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	p := process{name: string(stat[open+1 : end])}
	if _, err := fmt.Sscanf(string(stat[:open]), "%d", &p.pid); err != nil {
		return process{}, false
	}
	if _, err := fmt.Sscanf(string(stat[end+1:]), " %c %d", &p.state, &p.parent); err != nil {
		return process{}, false
	}
	cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return process{}, false
	}
	p.args = strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	p.space, _ = os.Readlink(filepath.Join(dir, "ns/pid"))
	return p, true
}

// hostProcess reports whether p is the PID 1 of a host of the lab in dir, and of which.
func hostProcess(p process, dir string) (name string, ok bool) {
	if len(p.args) == 3 && p.args[0] == hostCommand && p.args[1] == dir {
		return p.args[2], true
	}
	return "", false
}

// insides is what runs in one host.
type insides struct {
	pid1     process
	libvirtd *process
	all      []process
}

// look returns what runs in the host; false when the host is off.
func look(dir, host string) (insides, bool, error) {
	all, err := processes()
	if err != nil {
		return insides{}, false, err
	}
	var in insides
	for _, p := range all {
		if name, ok := hostProcess(p, dir); ok && name == host {
			in.pid1 = p
		}
	}
	if in.pid1.pid == 0 {
		return insides{}, false, nil
	}
	for _, p := range all {
		if p.space != in.pid1.space {
			continue
		}
		in.all = append(in.all, p)
		if p.name == "libvirtd" && p.parent == in.pid1.pid {
			in.libvirtd = &p
		}
	}
	return in, true, nil
}

// stopped reports whether all threads of a process are stopped, or gone.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return false
	}
	for _, dir := range threads {
		if p, ok := readProcess(dir); ok && p.state != 'T' {
			return false
		}
	}
	return true
}

// cpuTime is how much CPU time a process has used, its guest's included; 0 when it is gone.
func cpuTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var user, system time.Duration
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0
	}
	// The kernel counts in hundredths of a second.
	return (user + system) * 10 * time.Millisecond
}

// killHosts cuts the power of the named host of the lab in dir, or of all when the name is empty, and waits until nothing of
// them runs. The kernel lets a PID 1 go only after everything in its namespace.
func killHosts(ctx context.Context, dir, host string) error {
	for {
		all, err := processes()
		if err != nil {
			return err
		}
		left := ""
		for _, p := range all {
			name, ok := hostProcess(p, dir)
			if !ok || (host != "" && name != host) {
				continue
			}
			left = name
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("kill host %s (process %d): %w", name, p.pid, err)
			}
		}
		if left == "" {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("host %s does not die, something in it hangs in the kernel: %w", left, err)
		}
	}
}

// insidePath is the path by which this machine sees a file of a host that is on.
func insidePath(pid1 int, path string) string {
	return filepath.Join("/proc", strconv.Itoa(pid1), "root", path)
}
