package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Registry reads and writes users' objects. Its methods are safe for concurrent use.
type Registry struct {
	st  store.Store
	now func() time.Time
}

// New makes a registry on a store. now is the clock that timestamps come from.
func New(st store.Store, now func() time.Time) *Registry {
	return &Registry{st: st, now: now}
}

// timestamp is the present as objects carry it: finer than people read, coarse enough to survive JSON unchanged.
func (r *Registry) timestamp() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

// maxAttempts bounds how often a write is tried that others' writes come in the way of. Each failed attempt means that somebody
// else's succeeded, so only a crowd on the very same object uses them up.
const maxAttempts = 64

// retry does what attempt says until no other write comes in between.
func retry(ctx context.Context, attempt func() error) error {
	var err error
	for range maxAttempts {
		if err = attempt(); !errors.Is(err, store.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("gave up after %d attempts, each overtaken by somebody else's write; try again later: %w", maxAttempts, err)
}
