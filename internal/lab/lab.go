package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Options says what lab to make.
type Options struct {
	// Dir holds everything the lab keeps on disk. It is made when missing. It must be an absolute path, and not below /run,
	// /dev, /proc, /sys or a directory of libvirt's, which the hosts see their own of.
	Dir string
	// Hosts is how many hosts: 1 to 64.
	Hosts int
	// Prefix of the hosts' names: with "host" they are host1, host2, … Empty means "host".
	Prefix string
	// Cache keeps what is slow to find out and the same for every lab on this machine: whether KVM works, what QEMU can do.
	// It outlives the lab. Empty means a directory inside Dir, which does not.
	Cache string
}

// Errors that a caller may want to tell apart.
var (
	// ErrNoLab: there is no lab in that directory.
	ErrNoLab = errors.New("there is no lab")
	// ErrDead: the lab in that directory is a leftover of a crash or of an earlier boot of this machine.
	ErrDead = errors.New("the lab is dead")
	// ErrExists: a lab is up in that directory.
	ErrExists = errors.New("a lab is up already")
	// ErrNoHost: the lab has no host of that name.
	ErrNoHost = errors.New("no such host")
)

// Lab is a lab that is up. It holds no resources: any number of processes may open the same lab, and none has to close it.
// Methods are safe for concurrent use, also from several processes.
type Lab struct {
	dir   string
	state state
}

// Up makes a lab and returns when every host answers and has its pools. It fails with ErrExists when one is up in the
// directory, and clears away a dead one first. When it fails it leaves nothing behind.
func Up(ctx context.Context, opt Options) (*Lab, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	if err := Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opt.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the lab's directory: %w", err)
	}
	unlock, err := lock(ctx, opt.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if l, err := Open(opt.Dir); err == nil {
		return nil, fmt.Errorf("%w in %s, with %d hosts: use it, or take it down with \"holdfast lab down\"",
			ErrExists, opt.Dir, len(l.state.Hosts))
	}
	if err := clear(ctx, opt.Dir); err != nil {
		return nil, fmt.Errorf("clear the remains of an earlier lab in %s: %w", opt.Dir, err)
	}
	l, err := build(ctx, opt)
	if err != nil {
		// The caller's context may be what ended; clearing away gets its own time.
		clearCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return nil, errors.Join(err, clear(clearCtx, opt.Dir))
	}
	return l, nil
}

// Open finds the lab that is up in dir. It fails with ErrNoLab or ErrDead.
func Open(dir string) (*Lab, error) {
	st, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: make one with \"holdfast lab up\"", ErrNoLab, dir)
	}
	if err != nil {
		return nil, err
	}
	if !st.Complete || !bridgeIsOurs(st.Number, dir) {
		return nil, fmt.Errorf("%w: %s holds the remains of one, clear them away with \"holdfast lab down\"", ErrDead, dir)
	}
	return &Lab{dir: dir, state: st}, nil
}

// Down takes the lab in dir down, dead or alive, with everything in it: guests, disks in its pools, logs. It leaves the
// directory only when that holds something that is not the lab's. Without a lab it does nothing.
func Down(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	return clear(ctx, dir)
}

// Down is the package's Down for this lab.
func (l *Lab) Down(ctx context.Context) error { return Down(ctx, l.dir) }

// Dir is the lab's directory.
func (l *Lab) Dir() string { return l.dir }

// Shared is the directory of the pool "shared", the same path on this machine and in every host.
func (l *Lab) Shared() string { return filepath.Join(l.dir, sharedDir) }

// Accelerator is what guests run on: "kvm" when a probe guest booted with it, else "tcg".
func (l *Lab) Accelerator() string { return l.state.Accelerator }

// Gateway is the machine's own address in the lab's network: what hosts and guests may call.
func (l *Lab) Gateway() string { return gateway(l.state.Number) }

func (o *Options) complete() error {
	if o.Prefix == "" {
		o.Prefix = "host"
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`).MatchString(o.Prefix) {
		return fmt.Errorf("prefix %q of the hosts' names: use up to 32 lower-case letters, digits and hyphens, a letter first", o.Prefix)
	}
	if o.Hosts < 1 || o.Hosts > maxHosts {
		return fmt.Errorf("%d hosts: a lab has 1 to %d", o.Hosts, maxHosts)
	}
	if !filepath.IsAbs(o.Dir) {
		return fmt.Errorf("the lab's directory %q must be an absolute path", o.Dir)
	}
	o.Dir = filepath.Clean(o.Dir)
	for _, private := range append([]string{"/run", "/var/run", "/dev", "/proc", "/sys"}, libvirtDirs...) {
		if o.Dir == private || strings.HasPrefix(o.Dir, private+"/") {
			return fmt.Errorf("the lab's directory %s is below %s, of which each host has its own: choose another place", o.Dir, private)
		}
	}
	if o.Cache == "" {
		o.Cache = filepath.Join(o.Dir, cacheDir)
	}
	return nil
}

// build makes the lab in a directory that holds none. The state is written before the first thing that outlives this process.
func build(ctx context.Context, opt Options) (*Lab, error) {
	l := &Lab{dir: opt.Dir, state: newState(opt)}
	accelerator, err := probeKVM(ctx, opt.Cache)
	if err != nil {
		return nil, err
	}
	l.state.Accelerator = accelerator
	if err := os.MkdirAll(l.Shared(), 0o755); err != nil {
		return nil, fmt.Errorf("make the shared pool: %w", err)
	}
	if err := l.makeBridge(ctx); err != nil {
		return nil, err
	}
	for _, h := range l.state.Hosts {
		if err := l.furnish(h, opt.Cache); err != nil {
			return nil, fmt.Errorf("prepare host %s: %w", h.Name, err)
		}
	}
	hosts := l.state.Hosts
	// When it is not known what QEMU can do, the first host finds out alone, and the others are spared it.
	if !knowsCapabilities(opt.Cache) {
		if err := l.start(ctx, hosts[0]); err != nil {
			return nil, err
		}
		if err := l.learnCapabilities(ctx, hosts[0], opt.Cache); err != nil {
			return nil, err
		}
		hosts = hosts[1:]
		for _, h := range hosts {
			if err := giveCapabilities(opt.Cache, l.hostDir(h.Name)); err != nil {
				return nil, err
			}
		}
	}
	if err := l.startAll(ctx, hosts); err != nil {
		return nil, err
	}
	l.state.Complete = true
	return l, l.state.write(l.dir)
}

// startAll powers hosts on side by side.
func (l *Lab) startAll(ctx context.Context, hosts []hostState) error {
	var wg sync.WaitGroup
	errs := make([]error, len(hosts))
	for i, h := range hosts {
		wg.Go(func() { errs[i] = l.start(ctx, h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// clear removes all traces of the lab in dir, whatever state it is in. The caller holds the lock.
func clear(ctx context.Context, dir string) error {
	if err := killHosts(ctx, dir, ""); err != nil {
		return err
	}
	if err := removeLinks(ctx, dir); err != nil {
		return err
	}
	for _, name := range []string{hostsDir, sharedDir, cacheDir, stateFile, lockFile} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove the lab's files: %w", err)
		}
	}
	// Fails when something else is in there, and then it should.
	_ = os.Remove(dir)
	return nil
}
