package etcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

func TestLog(t *testing.T) {
	const storage = "failed to update storage version"
	var out bytes.Buffer
	lg := etcd.ZapTo(slog.New(slog.NewTextHandler(&out, nil)), "/data")
	lg.Info("about etcd")
	lg.Warn("simple token is not cryptographically signed")
	lg.Warn("simple token is not cryptographically signed, and more")
	lg.Error(storage, zap.String("cluster-version", "3.7.0"), zap.Error(errors.New("cannot detect storage schema version: missing term information")))
	lg.Error(storage, zap.String("cluster-version", "3.7.0"), zap.Error(errors.New("disk on fire")))
	var got []string
	for line := range strings.Lines(out.String()) {
		_, said, _ := strings.Cut(strings.TrimSpace(line), " ") // without the time
		got = append(got, said)
	}
	want := []string{
		`level=WARN msg="etcd: simple token is not cryptographically signed, and more"`,
		`level=ERROR msg="etcd: failed to update storage version" cluster-version=3.7.0 error="disk on fire"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What ends the process says so, and what to do: nobody else can any more.
func TestLastWords(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/data/member/snap/db", Err: syscall.ENOSPC}
	for _, tc := range []struct {
		level zapcore.Level
		err   error
		want  string // of the line after etcd's own; empty for none
	}{
		{zapcore.FatalLevel, full, "the server ends, because its etcd cannot go on with /data: the disk is full; guests run on, and nothing " +
			"that was accepted is lost: make room there, then start the server again"},
		{zapcore.PanicLevel, fmt.Errorf("save: %w", full), "/data: the disk is full; guests run on"},
		{zapcore.FatalLevel, errors.New("checksum mismatch"), "for the reason given in the line above; guests run on: see to the disk, then start"},
		{zapcore.FatalLevel, nil, "for the reason given in the line above"},
		{zapcore.ErrorLevel, full, ""},
	} {
		var out bytes.Buffer
		core := etcd.ZapTo(slog.New(slog.NewTextHandler(&out, nil)), "/data").Core()
		if err := core.Write(zapcore.Entry{Level: tc.level, Message: "failed to commit tx"}, []zap.Field{zap.Error(tc.err)}); err != nil {
			t.Fatal(err)
		}
		own, last, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		if !strings.Contains(own, "etcd: failed to commit tx") || !strings.Contains(last, tc.want) || (last == "") != (tc.want == "") {
			t.Errorf("%v, %v: logged:\n%s\nwant last: %s", tc.level, tc.err, out.String(), tc.want)
		}
	}
}

// lockedBuffer takes what several goroutines log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// What etcd warns of at every start is known, in the words of the version that is built in.
func TestStartIsQuiet(t *testing.T) {
	t.Parallel()
	out := &lockedBuffer{}
	o := etcd.Options{Dir: filepath.Join(t.TempDir(), "new"), Logger: slog.New(slog.NewTextHandler(out, nil))}
	for range 2 { // a new directory and a used one
		mustClose(t, start(t, o))
	}
	// A busy machine gives etcd cause for other warnings.
	for _, about := range []string{"token", "single port", "missing term information"} {
		if strings.Contains(out.String(), about) {
			t.Errorf("logged: %s", out.String())
		}
	}
}
