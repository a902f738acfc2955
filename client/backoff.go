package client

import (
	"context"
	"time"
)

// backoff is the growing pause between tries to reach the server again.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{next: 50 * time.Millisecond} }

// wait pauses, or returns ctx's error as soon as ctx ends.
func (b *backoff) wait(ctx context.Context) error {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, 2*time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
