package apiserver_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/apiserver"
)

func TestSocketIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "api.sock")
	listener, err := apiserver.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", dir.Mode(), err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := listener.Close(); err == nil {
		t.Error("closed twice without an error")
	}
}

func TestSocketOfALiveServerIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	first, err := apiserver.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apiserver.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server: %v", err)
	}
	if connection, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first one is out of reach: %v", err)
	} else {
		connection.Close()
	}
	first.Close()

	foreign, err := net.Listen("unix", path) // knows nothing of our lock
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if _, err := apiserver.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("beside a foreign server: %v", err)
	}
}

// What a server leaves behind that was killed: the socket, its lock file, and a half-made successor.
func TestSocketOfADeadServerIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".new/s"} {
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		dead.SetUnlinkOnClose(false)
		dead.Close()
	}
	listener, err := apiserver.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connection, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
	if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}

func TestSocketThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		file:                              "is not a socket",
		filepath.Join(file, "api.sock"):   "make the directory",
		"/tmp/" + strings.Repeat("x", 99): "too long",
	} {
		if _, err := apiserver.ListenUnix(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", path, err, says)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "precious" {
		t.Errorf("the file in the way was touched: %q, %v", content, err)
	}
}
