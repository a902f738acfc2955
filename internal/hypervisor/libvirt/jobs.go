package libvirt

import (
	"context"
	"sync"
)

// jobsPerLink bounds how many slow calls share one link. libvirtd carries out 5 requests of a client at a time
// (max_client_requests) and reads no more until one is done; one place stays free.
const jobsPerLink = 4

// jobLinks shares links among slow jobs. It opens one when all are taken, and keeps it for the next burst.
type jobLinks struct {
	opening gate // held while a link is opened, so that a burst waits for it instead of opening one each
	mu      sync.Mutex
	busy    map[*link]int // jobs on each link
}

func (j *jobLinks) acquire(ctx context.Context, open func(context.Context) (*link, error)) (*link, error) {
	if l := j.takeFree(); l != nil {
		return l, nil
	}
	if err := j.opening.enter(ctx); err != nil {
		return nil, err
	}
	defer j.opening.leave()
	if l := j.takeFree(); l != nil {
		return l, nil
	}
	l, err := open(ctx)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy[l] = 1
	return l, nil
}

func (j *jobLinks) takeFree() *link {
	j.mu.Lock()
	defer j.mu.Unlock()
	for l, n := range j.busy {
		if n < jobsPerLink {
			j.busy[l]++
			return l
		}
	}
	return nil
}

func (j *jobLinks) release(l *link) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy[l]--
}

// gate lets one in at a time, and nobody wait longer than their context.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) leave() { <-g }
