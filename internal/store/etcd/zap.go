package etcd

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapTo is a logger for etcd that passes its warnings and errors on to lg, except harmless ones. What etcd says below that is about
// etcd. dir is the data directory of an embedded etcd, whose last words end this process; empty for a client.
func zapTo(lg *slog.Logger, dir string) *zap.Logger { return zap.New(slogCore{to: lg, dir: dir}) }

// harmless are what etcd warns of and concerns nobody here: its messages, letter by letter, with the error that makes each harmless
// where others would not be. Whoever changes etcd's version looks whether they still mean what is said here.
var harmless = map[string]string{
	// Our embedded etcd listens on nothing, so there is no port to share and nobody who could forge a token.
	"Running http and grpc server on single port. This is not recommended for production.": "",
	"simple token is not cryptographically signed":                                         "",
	// In a new directory etcd looks for its version before the first commit, which notes the term. It looks again every few seconds.
	"Failed to detect schema version":  "missing term information",
	"failed to update storage version": "cannot detect storage schema version: missing term information",
}

// slogCore implements zapcore.Core.
type slogCore struct {
	to  *slog.Logger
	dir string
}

func (c slogCore) level(l zapcore.Level) slog.Level {
	if l >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelWarn
}

func (c slogCore) Enabled(l zapcore.Level) bool {
	return l >= zapcore.WarnLevel && c.to.Enabled(context.Background(), c.level(l))
}

func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	return slogCore{to: c.to.With(attributes(fields)...), dir: c.dir}
}

func (c slogCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c slogCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	err := errorIn(fields)
	if cause, known := harmless[e.Message]; known && (err == nil && cause == "" || err != nil && cause == err.Error()) {
		return nil
	}
	c.to.Log(context.Background(), c.level(e.Level), "etcd: "+e.Message, attributes(fields)...)
	if e.Level >= zapcore.PanicLevel {
		c.to.Error(lastWords(c.dir, err))
	}
	return nil
}

// lastWords are for whoever finds that the server has ended, because its etcd gave up: etcd then ends the whole process, and nothing
// but the log can still say why.
func lastWords(dir string, err error) string {
	const ends = "the server ends, because its etcd cannot go on with "
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ends + dir + ": the disk is full; guests run on, and nothing that was accepted is lost: make room there, then start the server again"
	}
	return ends + dir + ", for the reason given in the line above; guests run on: see to the disk, then start the server again; " +
		"if it ends again, read on backups in docs/operations.md"
}

// errorIn is the error among the fields, nil when there is none.
func errorIn(fields []zapcore.Field) error {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return err
		}
	}
	return nil
}

func (c slogCore) Sync() error { return nil }

// attributes are the fields in the order of their names: etcd's encoder keeps them in a map.
func attributes(fields []zapcore.Field) []any {
	m := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(m)
	}
	names := make([]string, 0, len(m.Fields))
	for name := range m.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []any
	for _, name := range names {
		out = append(out, slog.Any(name, m.Fields[name]))
	}
	return out
}
