package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	lockName = "holdfast.lock"
	// lockPatience is how long a new process waits for one that was just killed to be gone.
	lockPatience = 2 * time.Second
)

// lockDir makes sure that no other process uses the data directory, which it makes when it is missing. etcd has a lock, too, but
// waits for it for ever. The kernel lets go of the lock when its process dies, however it dies.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w%s", err, orElsewhere(err))
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w%s", err, orElsewhere(err))
	}
	if err := flock(ctx, f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is used by another process%s: stop it, or give this one another directory",
				dir, holder(f))
		}
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	// For the message above; the lock holds without it.
	if err := errors.Join(f.Truncate(0), second(f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0))); err != nil {
		defer f.Close()
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	return func() { f.Close() }, nil
}

// orElsewhere is what somebody can do who may not write here.
func orElsewhere(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "; run the server as root, or give it a directory of its user's own (--data-dir)"
	}
	return ""
}

func second(_ int, err error) error { return err }

func flock(ctx context.Context, f *os.File) error {
	patience := time.After(lockPatience)
	again := time.NewTicker(lockPatience / 40)
	defer again.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-again.C:
		case <-patience:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// holder is the process that has the lock, as " (pid 17)", or nothing when it did not say.
func holder(f *os.File) string {
	b := make([]byte, 20)
	n, err := f.ReadAt(b, 0)
	pid := strings.TrimSpace(string(b[:n]))
	if n == 0 || err == nil || pid == "" {
		return ""
	}
	return " (pid " + pid + ")"
}
