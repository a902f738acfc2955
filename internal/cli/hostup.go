package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/progress"
)

// awaitHosts waits until all of the hosts are up, and shows how they are getting on. Zero patience has no end.
func (a *app) awaitHosts(ctx context.Context, c *client.Client, patience time.Duration, names ...string) error {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = "host/" + name
	}
	p := progress.New(a.Err, a.Width, words...)
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = a.awaitUp(ctx, c, p, patience, name) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// awaitUp waits until the host is up; one that is refused will not be, so then it ends.
func (a *app) awaitUp(ctx context.Context, c *client.Client, p teller, patience time.Duration, name string) error {
	host, err := c.WaitHost(ctx, name, func(h *v1.Host) (bool, error) {
		switch {
		case h == nil:
			return false, notFound("host/%s was deleted while waiting", name)
		case h.Status.State == v1.HostRefused:
			return false, refused("host/%s: %s", name, hostWhy(h, a.Now()))
		case h.Status.State == v1.HostUp:
			return true, nil
		}
		line := hostState(h)
		if m := h.Status.Message; m != "" {
			line += ": " + m
		}
		p.Say("host/"+name, line)
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		why := "the server did not say how it is"
		if host != nil {
			why = hostWhy(host, a.Now())
		}
		return timedOut("host/%s is added, but not up after %s: %s", name, patience, why)
	}
	return err
}
