package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Engine leads the cluster whenever it is elected.
type Engine struct {
	o       Options
	newCore func() decider
}

// New makes an engine; Run starts it.
func New(o Options) *Engine { return &Engine{o: o.withDefaults(), newCore: newCore} }

// resignTimeout bounds giving up the lease; a store that does not answer lets it run out instead.
const resignTimeout = 3 * time.Second

// longTerm is how long a term must have lasted for the pause after it to be the shortest one again.
const longTerm = time.Minute

// Run campaigns, leads, and campaigns again when a term ends, until ctx ends; then it gives up the lease and returns nil. It
// waits for nothing that hosts still do: the next leader finds it.
func (e *Engine) Run(ctx context.Context) error {
	pause := e.o.TermPauseMin
	for ctx.Err() == nil {
		began := time.Now()
		err := e.lead(ctx)
		if ctx.Err() != nil {
			e.o.Log.Info("term ended", "lasted", time.Since(began))
			break
		}
		e.o.Log.Error("term ended", "err", err, "lasted", time.Since(began), "pause", pause)
		if time.Since(began) >= longTerm {
			pause = e.o.TermPauseMin
		}
		sleep(ctx, pause)
		pause = min(2*pause, e.o.TermPauseMax)
	}
	return nil
}

// lead is one term, from campaign to resignation. It returns why the term ended.
func (e *Engine) lead(ctx context.Context) error {
	lease, err := e.o.Store.Campaign(ctx, e.o.Name)
	if err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	err = runTerm(ctx, &e.o, lease, e.newCore())
	resignCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignTimeout)
	defer cancel()
	if rerr := lease.Resign(resignCtx); rerr != nil {
		e.o.Log.Info("could not resign; the lease runs out by itself", "err", rerr)
	}
	return err
}

// errLease: the lease was lost.
var errLease = errors.New("the lease was lost")

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// clock tells the time of a term: wall time at its start plus monotonic time since, so that a step of the wall clock fires
// nothing.
type clock struct{ start time.Time }

func newClock() clock { return clock{start: time.Now()} }

// Now carries no monotonic reading: it is compared with times that come from the store.
func (c clock) Now() time.Time { return c.start.Round(0).UTC().Add(time.Since(c.start)) }

// runTerm leads with lease until ctx ends, the lease is lost, or anything fails. When it returns no goroutine, connection or
// other thing of the term is left.
func runTerm(ctx context.Context, o *Options, lease store.Term, c decider) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := newTerm(o, lease, c, cancel)
	o.Log.Info("term begins", "name", o.Name, "ttl", lease.TTL())
	t.group.Go(func() {
		select {
		case <-lease.Done():
			cancel(errLease)
		case <-ctx.Done():
		}
	})
	err := t.run(ctx)
	cancel(err)
	t.group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}
