package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// errClosed is why a connection that was closed by its owner is lost.
var errClosed = errors.New("the connection was closed")

// conn is a connection to one host: a link for quick questions, one for events, and as many as needed for slow jobs, so that
// twenty guests being started never stand before a question. They live and die together.
type conn struct {
	target *target

	quick     *link
	eventLink *link
	jobs      jobLinks

	events chan hypervisor.Event
	pumped chan struct{} // closed when the event pump is gone; nil when it never ran

	// caps are what the host can do; asked once, since only a restart of libvirtd changes the answer, and that breaks us.
	caps onceCaps

	mu    sync.Mutex
	links []*link
	cause error // why the connection is lost; nil while it is good
}

var _ hypervisor.Conn = (*conn)(nil)

func newConn(t *target) *conn {
	return &conn{
		target: t, events: make(chan hypervisor.Event),
		jobs: jobLinks{opening: newGate(), busy: map[*link]int{}},
		caps: onceCaps{asking: newGate()},
	}
}

func (c *conn) open(ctx context.Context) (err error) {
	if c.eventLink, err = c.addLink(ctx); err != nil {
		return err
	}
	if err := c.subscribe(ctx); err != nil {
		return err
	}
	c.quick, err = c.addLink(ctx)
	return err
}

// addLink opens one more link. When the connection was lost meanwhile, the new link is closed again.
func (c *conn) addLink(ctx context.Context) (*link, error) {
	l, err := openLink(ctx, c.target, c.fail)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		_ = l.stream.Close()
		return nil, fmt.Errorf("the connection to the host is lost: %w", c.cause)
	}
	c.links = append(c.links, l)
	return l, nil
}

// fail gives the connection up, for the first reason it is told.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	for _, l := range c.links {
		_ = l.stream.Close()
	}
}

func (c *conn) lostCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Events implements hypervisor.Conn.
func (c *conn) Events() <-chan hypervisor.Event { return c.events }

// Close implements hypervisor.Conn.
func (c *conn) Close() error {
	c.fail(errClosed)
	if c.pumped != nil {
		<-c.pumped
	}
	return nil
}

// call runs one libvirt call on a link. op says what is being done to which object, for the error. When ctx ends first, the
// connection is given up: that is the only way to get the call back.
func (c *conn) call(ctx context.Context, l *link, op string, f func(*golibvirt.Libvirt) error) error {
	began := time.Now()
	if ctx.Err() != nil {
		return unanswered(ctx, op, began)
	}
	stop := context.AfterFunc(ctx, func() { c.fail(unanswered(ctx, op, began)) })
	defer stop()
	err := f(l.virt)
	if err == nil {
		return nil
	}
	if answer := asAnswer(op, err); answer != nil {
		return answer
	}
	if ctx.Err() != nil {
		return unanswered(ctx, op, began)
	}
	// Whatever else it was, we no longer know where in the stream we are.
	c.fail(err)
	return fmt.Errorf("%s: the connection to the host is lost: %v", op, c.lostCause())
}

// ask is call for quick questions.
func (c *conn) ask(ctx context.Context, op string, f func(*golibvirt.Libvirt) error) error {
	return c.call(ctx, c.quick, op, f)
}

// work is call for slow jobs.
func (c *conn) work(ctx context.Context, op string, f func(*golibvirt.Libvirt) error) error {
	began := time.Now()
	l, err := c.jobs.acquire(ctx, c.addLink)
	if err != nil {
		err = fmt.Errorf("%s: %w", op, err)
		if ctx.Err() != nil {
			if known := (*unreached)(nil); !errors.As(err, &known) {
				err = unanswered(ctx, op, began)
			}
			c.fail(err) // a host that does not even greet in time
		}
		return err
	}
	defer c.jobs.release(l)
	return c.call(ctx, l, op, f)
}
