package lab

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// PowerOff cuts the host's power: all that runs in it is killed at once, and /run is lost. What is on its disk stays: domain
// definitions, pools, logs. A host that is off stays off.
func (l *Lab) PowerOff(ctx context.Context, host string) error {
	h, err := l.find(host)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, l.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := killHosts(ctx, l.dir, host); err != nil {
		return err
	}
	// It would go by itself when the kernel gets to it.
	return removeLink(ctx, portName(l.state.Number, h.Index))
}

// PowerOn boots a host that is off, plugged in, and returns when its libvirtd answers. A host that is on stays as it is.
func (l *Lab) PowerOn(ctx context.Context, host string) error {
	h, err := l.find(host)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, l.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if _, on, err := look(l.dir, host); err != nil || on {
		return err
	}
	return l.start(ctx, h)
}

// Freeze stops the host's libvirtd as a hang does: its connections stay, calls are taken in by the kernel and not answered.
// Guests run on.
func (l *Lab) Freeze(host string) error {
	pid, err := l.signalLibvirtd(host, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	// A thread stops when it next leaves the kernel.
	for range 10_000 {
		if stopped(pid) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("libvirtd of host %s does not stop, it hangs in the kernel", host)
}

// Thaw lets a frozen libvirtd go on. It then carries out what it was asked meanwhile.
func (l *Lab) Thaw(host string) error {
	_, err := l.signalLibvirtd(host, syscall.SIGCONT)
	return err
}

// Unplug pulls the host's network cable. Guests run on, cut off too.
func (l *Lab) Unplug(ctx context.Context, host string) error { return l.setPort(ctx, host, "down") }

// Plug puts the cable back.
func (l *Lab) Plug(ctx context.Context, host string) error { return l.setPort(ctx, host, "up") }

// RestartLibvirtd ends the host's libvirtd, frozen or not, and returns when a new one answers. Guests run on.
func (l *Lab) RestartLibvirtd(ctx context.Context, host string) error {
	h, err := l.find(host)
	if err != nil {
		return err
	}
	before, err := l.libvirtd(host)
	if err != nil {
		return err
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := syscall.Kill(before.pid, sig); err != nil {
			return fmt.Errorf("end libvirtd of host %s: %w", host, err)
		}
	}
	for {
		in, on, err := look(l.dir, host)
		if err != nil {
			return err
		}
		if !on {
			return fmt.Errorf("restart libvirtd of host %s: the host went off meanwhile", host)
		}
		if in.libvirtd != nil && in.libvirtd.pid != before.pid {
			return waitReady(ctx, address(l.state.Number, h.Index), nil)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("restart libvirtd of host %s: %w", host, err)
		}
	}
}

// KillQEMU sends a signal to the QEMU process of a domain: SIGKILL is a crash, SIGTERM what a host's shutdown sends.
func (l *Lab) KillQEMU(host, domainUUID string, sig syscall.Signal) error {
	in, err := l.insides(host)
	if err != nil {
		return err
	}
	for _, p := range in.all {
		i := slices.Index(p.args, "-uuid")
		if i < 0 || i+1 >= len(p.args) || p.args[i+1] != domainUUID {
			continue
		}
		if err := syscall.Kill(p.pid, sig); err != nil {
			return fmt.Errorf("send %s to QEMU of domain %s on host %s: %w", sig, domainUUID, host, err)
		}
		return nil
	}
	return fmt.Errorf("no QEMU of domain %s runs on host %s", domainUUID, host)
}

// insides is what runs in a host that must be on.
func (l *Lab) insides(host string) (insides, error) {
	if _, err := l.find(host); err != nil {
		return insides{}, err
	}
	in, on, err := look(l.dir, host)
	if err != nil {
		return insides{}, err
	}
	if !on {
		return insides{}, fmt.Errorf("host %s is off: switch it on with \"holdfast lab power-on %s\"", host, host)
	}
	return in, nil
}

func (l *Lab) libvirtd(host string) (*process, error) {
	in, err := l.insides(host)
	if err != nil {
		return nil, err
	}
	if in.libvirtd == nil {
		return nil, fmt.Errorf("libvirtd of host %s is not running just now", host)
	}
	return in.libvirtd, nil
}

func (l *Lab) signalLibvirtd(host string, sig syscall.Signal) (pid int, err error) {
	p, err := l.libvirtd(host)
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(p.pid, sig); err != nil {
		return 0, fmt.Errorf("send %s to libvirtd of host %s: %w", sig, host, err)
	}
	return p.pid, nil
}

func (l *Lab) setPort(ctx context.Context, host, state string) error {
	h, err := l.find(host)
	if err != nil {
		return err
	}
	if _, err := l.insides(host); err != nil {
		return err
	}
	return ip(ctx, "link", "set", portName(l.state.Number, h.Index), state)
}
