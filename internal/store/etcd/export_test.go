package etcd

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
)

// Translate is what a caller gets to hear when etcd says err.
func Translate(err error) error {
	return newStore(nil, 0, nil, nil).translate(context.Background(), err)
}

// Maintain is what the store does on its own every few minutes, with figures of now: etcd's are those of its last commit.
func Maintain(ctx context.Context, s *Store) error {
	s.embedded.Server.Backend().ForceCommit()
	return s.maintain(ctx, false)
}

// ZapTo is etcd's logger.
func ZapTo(lg *slog.Logger, dir string) *zap.Logger { return zapTo(lg, dir) }
