package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	case is(err, rpctypes.ErrTooManyOps), is(err, rpctypes.ErrRequestTooLarge), tooLargeForGRPC(err):
		return fmt.Errorf("etcd allows only smaller transactions: start it with %s: %w", serverFlags, err)
	case unavailable(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// tooLargeForGRPC recognises a request that etcd's gRPC did not even hand to etcd. There is no error of its own for that.
func tooLargeForGRPC(err error) bool {
	return codeOf(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "message larger than max")
}

// unavailable recognises what passes: no leader, no quorum, an election, a time-out of etcd's own, too many requests at once, a
// server that stopped, no connection.
func unavailable(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted: // of the latter, want of space was found before
		return true
	}
	return false
}

// codeOf is the gRPC code of what etcd says, codes.Unknown when it has none.
func codeOf(err error) codes.Code {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code()
	}
	return status.Code(err)
}

// is compares what etcd says, which comes as a gRPC status or as etcd's own error by the way it took.
func is(err, want error) bool {
	return err != nil && (errors.Is(err, want) || errors.Is(rpctypes.Error(err), want))
}
