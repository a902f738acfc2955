package libvirt

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestJobLinks: a burst of jobs opens as few links as hold them, and the next burst opens none.
func TestJobLinks(t *testing.T) {
	j := jobLinks{opening: newGate(), busy: map[*link]int{}}
	var opened atomic.Int32
	open := func(context.Context) (*link, error) { opened.Add(1); return &link{}, nil }
	const jobs = 3 * jobsPerLink
	for range 2 {
		taken := make(chan *link, jobs)
		var burst sync.WaitGroup
		for range jobs {
			burst.Go(func() {
				l, err := j.acquire(t.Context(), open)
				if err != nil {
					t.Error(err)
				}
				taken <- l
			})
		}
		burst.Wait()
		close(taken)
		each := map[*link]int{}
		for l := range taken {
			each[l]++
			j.release(l)
		}
		for _, n := range each {
			if n > jobsPerLink {
				t.Errorf("a link had %d jobs, want at most %d", n, jobsPerLink)
			}
		}
	}
	if opened.Load() != 3 {
		t.Errorf("%d links were opened for %d jobs, want 3", opened.Load(), jobs)
	}
}

// TestJobLinksAreBounded: waiting for somebody else's link to open ends with one's own context.
func TestJobLinksAreBounded(t *testing.T) {
	j := jobLinks{opening: newGate(), busy: map[*link]int{}}
	if err := j.opening.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if _, err := j.acquire(ctx, nil); !errors.Is(err, reason) {
		t.Errorf("got error %v, want %v", err, reason)
	}
}
