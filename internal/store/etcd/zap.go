package etcd

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapTo is a logger for etcd that passes its warnings and errors on to lg. What etcd says below that is about etcd.
func zapTo(lg *slog.Logger) *zap.Logger { return zap.New(slogCore{lg}) }

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
	c.to.Log(context.Background(), c.level(e.Level), "etcd: "+e.Message, attributes(fields)...)
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
