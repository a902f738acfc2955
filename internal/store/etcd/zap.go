package etcd

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapTo is a logger for etcd that passes its warnings and errors on to lg, except harmless ones. What etcd says below that is about
// etcd.
func zapTo(lg *slog.Logger) *zap.Logger { return zap.New(slogCore{lg}) }

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
type slogCore struct{ to *slog.Logger }

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
	return slogCore{c.to.With(attributes(fields)...)}
}

func (c slogCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c slogCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if cause, known := harmless[e.Message]; known && cause == errorIn(fields) {
		return nil
	}
	c.to.Log(context.Background(), c.level(e.Level), "etcd: "+e.Message, attributes(fields)...)
	return nil
}

// errorIn is the text of the error among the fields, empty when there is none.
func errorIn(fields []zapcore.Field) string {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return err.Error()
		}
	}
	return ""
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
