package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// noAnswer is what a hung libvirtd looks like: a deadline passed while it owed an answer. errors.Is finds the deadline's error.
type noAnswer struct {
	op     string
	within time.Duration // how long the answer was waited for; zero when no time was left to ask
	err    error
}

// unanswered is the error for a call that has been waiting for libvirtd since then when ctx ended.
func unanswered(ctx context.Context, op string, since time.Time) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", op, cause) // whoever asked wants to know no more
	}
	within := time.Since(since)
	if within >= time.Second {
		within = within.Round(time.Second)
	}
	return &noAnswer{op: op, within: within.Round(time.Millisecond), err: cause}
}

// Error implements error.
func (e *noAnswer) Error() string {
	what := "libvirtd has not answered within " + e.within.String()
	if e.within == 0 {
		what = "libvirtd answers too slowly, and no time was left"
	}
	return what + " (" + e.op + "); see whether it hangs: virsh list on the host, and its log"
}

// Unwrap gives the deadline's error.
func (e *noAnswer) Unwrap() error { return e.err }
