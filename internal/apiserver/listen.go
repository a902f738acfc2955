package apiserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is what the kernel's sockaddr_un holds besides the terminating zero.
const maxSocketPath = 107

// socketListener is a listening unix socket, and the lock that says whose it is.
type socketListener struct {
	*net.UnixListener
	path string
	lock *os.File
}

// ListenUnix listens on a unix socket that only its owner may open (mode 0600), from the first moment on: it is made in a private
// directory and moved into place. A socket that a dead server left behind is replaced; that of a live one never is. Directories
// that are missing are made, private too. Close removes the socket.
func ListenUnix(path string) (net.Listener, error) {
	if nursery := filepath.Join(nurseryOf(path), "s"); len(nursery) > maxSocketPath {
		return nil, fmt.Errorf("the socket path %s is too long: the kernel allows %d bytes, choose a path of at most %d with --socket",
			path, maxSocketPath, maxSocketPath-(len(nursery)-len(path)))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the socket %s: %w%s", path, err, orElsewhere(err))
	}
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	listener, err := listenLocked(path)
	if err != nil {
		unlockSocket(path, lock)
		return nil, err
	}
	return &socketListener{UnixListener: listener, path: path, lock: lock}, nil
}

// Close stops listening and removes the socket.
func (l *socketListener) Close() error {
	err := l.UnixListener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err // the second time: the path may be somebody else's by now
	}
	err = errors.Join(err, ignoreMissing(os.Remove(l.path)))
	unlockSocket(l.path, l.lock)
	return err
}

// nurseryOf is the private directory in which a socket gets its mode before anybody can see it.
func nurseryOf(path string) string { return path + ".new" }

func listenLocked(path string) (*net.UnixListener, error) {
	if err := mayReplace(path); err != nil {
		return nil, err
	}
	nursery := nurseryOf(path)
	young := filepath.Join(nursery, "s")
	// A server that was killed in here leaves these behind.
	if err := errors.Join(ignoreMissing(os.Remove(young)), ignoreMissing(os.Remove(nursery))); err != nil {
		return nil, fmt.Errorf("clean up for the socket %s: %w", path, err)
	}
	if err := os.Mkdir(nursery, 0o700); err != nil {
		return nil, fmt.Errorf("make the socket %s: %w", path, err)
	}
	defer os.Remove(nursery)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: young, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on the socket %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(young, 0o600)
	if err == nil {
		err = os.Rename(young, path)
	}
	if err != nil {
		listener.Close()
		os.Remove(young)
		return nil, fmt.Errorf("put the socket %s into place: %w", path, err)
	}
	return listener, nil
}

// mayReplace allows to replace nothing at all, or a socket on which nobody listens.
func mayReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket: remove it, or choose another path with --socket", path)
	}
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		connection.Close()
	}
	if err == nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
		return inUse(path)
	}
	return nil
}

// lockSocket takes the lock file beside the socket. The kernel releases it when the process ends, however it ends.
func lockSocket(path string) (*os.File, error) {
	name := path + ".lock"
	for {
		lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock of the socket %s: %w%s", path, err, orElsewhere(err))
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			lock.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, inUse(path)
			}
			return nil, fmt.Errorf("lock the socket %s: %w", path, err)
		}
		// Its last owner may have removed the file between the two calls: then it is no longer the one that others open.
		ours, err1 := lock.Stat()
		current, err2 := os.Stat(name)
		if err1 == nil && err2 == nil && os.SameFile(ours, current) {
			return lock, nil
		}
		lock.Close()
	}
}

func unlockSocket(path string, lock *os.File) {
	os.Remove(path + ".lock")
	lock.Close()
}

func inUse(path string) error {
	return fmt.Errorf("another server listens on the socket %s: stop it first, or choose another path with --socket", path)
}

// orElsewhere is what somebody can do who may not write here.
func orElsewhere(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "; run the server as root, or choose a path of your own with --socket"
	}
	return ""
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
