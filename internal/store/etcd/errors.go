package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// fail says what was being done when etcd said err, in the words of package store. ctx is the caller's.
func (s *Store) fail(ctx context.Context, err error, format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), s.translate(ctx, err))
}

func (s *Store) translate(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrClosed), s.ctx.Err() != nil:
		return store.ErrClosed
	case is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%w (delete objects that nobody needs, or raise the quota; the store recovers within minutes)", store.ErrNoSpace)
	case is(err, rpctypes.ErrCompacted):
		return store.ErrCompacted
	case is(err, rpctypes.ErrTooManyOps), is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("etcd allows only smaller transactions: start it with %s: %w", serverFlags, err)
	}
	return err
}

// is compares what etcd says, which comes as a gRPC status or as etcd's own error by the way it took.
func is(err, want error) bool {
	return err != nil && (errors.Is(err, want) || errors.Is(rpctypes.Error(err), want))
}
