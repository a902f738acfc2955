package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// HostState is what a host is doing.
type HostState string

// The states of a host, the first that applies.
const (
	// Off: nothing of it runs.
	Off HostState = "off"
	// Unplugged: its network cable is pulled.
	Unplugged HostState = "unplugged"
	// Frozen: its libvirtd is stopped and answers nothing; guests run on.
	Frozen HostState = "frozen"
	// On: none of the above. libvirtd may still be starting.
	On HostState = "on"
)

// Host is a host as it is now.
type Host struct {
	Name string
	// URI of its libvirtd: qemu+tcp://ADDRESS/system.
	URI     string
	Address string
	// UUID of the host, as its libvirt says.
	UUID  string
	State HostState
	// BootID changes with each power-on. Empty while the host is off or has just been switched on.
	BootID string
	// PID of the host's PID 1 on this machine, for nsenter; 0 while it is off.
	PID int
}

// Hosts returns all hosts, in order of their numbers.
func (l *Lab) Hosts() ([]Host, error) {
	var hosts []Host
	for _, h := range l.state.Hosts {
		host, err := l.Host(h.Name)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// Host returns one host; the error is ErrNoHost when there is none of that name.
func (l *Lab) Host(name string) (Host, error) {
	h, err := l.find(name)
	if err != nil {
		return Host{}, err
	}
	addr := address(l.state.Number, h.Index)
	host := Host{Name: name, URI: "qemu+tcp://" + addr + "/system", Address: addr, UUID: h.UUID, State: Off}
	in, on, err := look(l.dir, name)
	if err != nil || !on {
		return host, err
	}
	host.PID = in.pid1.pid
	if ids, err := os.ReadDir(insidePath(in.pid1.pid, bootIDDir)); err == nil && len(ids) == 1 {
		host.BootID = ids[0].Name()
	}
	link, err := net.InterfaceByName(portName(l.state.Number, h.Index))
	switch {
	case err != nil || link.Flags&net.FlagUp == 0:
		host.State = Unplugged
	case in.libvirtd != nil && in.libvirtd.state == 'T':
		host.State = Frozen
	default:
		host.State = On
	}
	return host, nil
}

func (l *Lab) find(name string) (hostState, error) {
	for _, h := range l.state.Hosts {
		if h.Name == name {
			return h, nil
		}
	}
	var names []string
	for _, h := range l.state.Hosts {
		names = append(names, h.Name)
	}
	return hostState{}, fmt.Errorf("%w: %q; the lab has %s", ErrNoHost, name, strings.Join(names, ", "))
}

// start switches a host on that is off, and waits until its libvirtd answers with pools and network in place.
func (l *Lab) start(ctx context.Context, h hostState) error {
	logPath := filepath.Join(private(l.hostDir(h.Name), "/var/log/libvirt"), "host.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of host %s: %w", h.Name, err)
	}
	defer log.Close()
	// Not bound to ctx: the host outlives this call.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{hostCommand, l.dir, h.Name}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + searchPath}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC,
	}
	order, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make the namespaces of host %s: %w", h.Name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	err = l.plugIn(ctx, h, cmd.Process.Pid)
	if err == nil {
		err = json.NewEncoder(order).Encode(hostOrder{
			Name: h.Name, Dir: l.hostDir(h.Name), Address: address(l.state.Number, h.Index), KVM: l.state.Accelerator == kvm,
		})
	}
	// Without an order the host ends by itself.
	_ = order.Close()
	if err == nil {
		err = waitReady(ctx, address(l.state.Number, h.Index), ended)
	}
	if err != nil {
		return fmt.Errorf("start host %s: %w%s", h.Name, err, lastLines(logPath))
	}
	return nil
}

// lastLines is the end of a log, to stand behind an error; empty when there is none.
func lastLines(path string) string {
	data, err := os.ReadFile(path)
	data = bytes.TrimSpace(data)
	if err != nil || len(data) == 0 {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	return "; its log ends: " + strings.Join(lines[max(0, len(lines)-3):], " | ")
}
