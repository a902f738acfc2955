package lab

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// What a lab's directory holds.
const (
	stateFile = "lab.json"
	lockFile  = "lock"
	hostsDir  = "hosts"
	sharedDir = "shared"
	cacheDir  = "cache"
)

const maxHosts = 64

// state is what cannot be seen by looking at the machine. Whether a host is on, frozen or unplugged is not in here: that is
// looked up each time.
type state struct {
	// Number of the lab on this machine: bridge hflab<n>, network 10.78.<n>.0/24.
	Number      int         `json:"number"`
	Hosts       []hostState `json:"hosts"`
	Accelerator string      `json:"accelerator"`
	// Complete when the lab came up. A lab that did not is dead.
	Complete bool `json:"complete"`
}

type hostState struct {
	// Index counts from 1: the last byte of the address.
	Index int    `json:"index"`
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
}

// newState names the hosts. Their UUIDs follow from the lab's directory, so that the same lab made again has the same hosts.
func newState(opt Options) state {
	var st state
	for i := 1; i <= opt.Hosts; i++ {
		name := fmt.Sprintf("%s%d", opt.Prefix, i)
		st.Hosts = append(st.Hosts, hostState{Index: i, Name: name, UUID: uuidFor(opt.Dir, "host", name)})
	}
	return st
}

// uuidFor is a UUID that is the same each time for the same words.
func uuidFor(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, h.Sum(nil), 4).String()
}

func (st state) write(dir string) error {
	data, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stateFile)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	return nil
}

func readState(dir string) (state, error) {
	var st state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return st, fmt.Errorf("read the lab's state: %w", err)
	}
	if err := json.Unmarshal(data, &st); err != nil {
		return st, fmt.Errorf("read the lab's state in %s: %w", dir, err)
	}
	return st, nil
}

// lock keeps others from changing the lab in dir until unlock is called or this process ends.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, fmt.Errorf("lock the lab: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		// The file may have gone with a lab that was taken down between open and lock.
		if err == nil && sameFile(f, path) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the lab: %w", err)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("wait for another command on the lab in %s: %w", dir, err)
		}
	}
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// pause waits for d, or for the context to end and then returns its error.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// atomicWrite writes a file that others may read meanwhile.
func atomicWrite(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
