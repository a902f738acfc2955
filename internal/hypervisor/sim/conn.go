package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

var (
	errLost   = errors.New("the connection to the host is lost")
	errKilled = errors.New("the process is dead")
)

// Process is one process that talks to the fleet, and that can be killed. It is a hypervisor.Driver.
type Process struct {
	fleet *Fleet
	name  string
	dead  atomic.Bool
	// Moment, when set before the first call, is called twice for each call that changes something: before it leaves, and when it
	// has left. A kill in the first keeps it from leaving.
	Moment func(left bool, c Call)
}

var _ hypervisor.Driver = (*Process)(nil)

// Process makes a driver for one process.
func (f *Fleet) Process(name string) *Process { return &Process{fleet: f, name: name} }

// Kill ends the process as kill -9 does: nothing more of it reaches a host, and what it has sent is carried out all the same.
// Its callers get errors.
func (p *Process) Kill() {
	p.dead.Store(true)
	for _, h := range p.fleet.Hosts() {
		h.mu.Lock()
		for _, c := range slices.Clone(h.conns) {
			if c.process == p {
				c.lose()
			}
		}
		h.mu.Unlock()
	}
}

// Connect implements hypervisor.Driver.
func (p *Process) Connect(ctx context.Context, uri string) (hypervisor.Conn, error) {
	p.fleet.mu.Lock()
	h := p.fleet.hosts[uri]
	p.fleet.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("there is no such simulated host as %s", uri)
	}
	if p.dead.Load() {
		return nil, errKilled
	}
	up := make(chan *conn, 1)
	h.mu.Lock()
	h.send(p.fleet.pick(p.fleet.opts.Latency, "connect", h.name), true, func() {
		if ctx.Err() == nil && !p.dead.Load() {
			c := &conn{host: h, process: p, events: make(chan hypervisor.Event, 64), gone: make(chan struct{})}
			h.conns = append(h.conns, c)
			up <- c
		}
	})
	h.mu.Unlock()
	select {
	case c := <-up:
		return c, nil
	case <-ctx.Done():
		select {
		case c := <-up:
			return c, nil
		default:
			return nil, fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// conn is one connection. host.mu guards its fields.
type conn struct {
	host    *Host
	process *Process
	events  chan hypervisor.Event
	gone    chan struct{}
	lost    bool
	pending []hypervisor.Event // what did not fit into events yet
	pumping bool
}

// Events implements hypervisor.Conn.
func (c *conn) Events() <-chan hypervisor.Event { return c.events }

// Close implements hypervisor.Conn.
func (c *conn) Close() error {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	c.lose()
	return nil
}

// lose ends the connection; host.mu is held.
func (c *conn) lose() {
	if c.lost {
		return
	}
	c.lost = true
	close(c.gone)
	if !c.pumping {
		close(c.events)
	}
	c.host.conns = slices.DeleteFunc(c.host.conns, func(x *conn) bool { return x == c })
}

// push hands an event over without ever waiting for the reader; host.mu is held.
func (c *conn) push(ev hypervisor.Event) {
	if c.lost {
		return
	}
	if len(c.pending) == 0 {
		select {
		case c.events <- ev:
			return
		default:
		}
	}
	c.pending = append(c.pending, ev)
	if !c.pumping {
		c.pumping = true
		go c.pump()
	}
}

// pump waits for a slow reader in push's place.
func (c *conn) pump() {
	for {
		c.host.mu.Lock()
		if c.lost || len(c.pending) == 0 {
			c.pumping = false
			if c.lost {
				close(c.events)
			}
			c.host.mu.Unlock()
			return
		}
		ev := c.pending[0]
		c.host.mu.Unlock()
		select {
		case c.events <- ev:
			c.host.mu.Lock()
			c.pending = c.pending[1:]
			c.host.mu.Unlock()
		case <-c.gone:
		}
	}
}

type answer[T any] struct {
	value T
	err   error
}

// call sends one request and waits for its answer. exec runs on the host, with its lock held, and may answer later.
func call[T any](ctx context.Context, c *conn, info Call, exec func(reply func(T, error))) (T, error) {
	var zero T
	h, opts := c.host, &c.host.fleet.opts
	changes := info.UUID != "" && info.Op != "look"
	if err := ctx.Err(); err != nil {
		return zero, fmt.Errorf("%s on %s: not sent: %w", info.Op, h.name, err)
	}
	if changes && c.process.Moment != nil {
		c.process.Moment(false, info)
	}
	answers := make(chan answer[T], 1)
	h.mu.Lock()
	if c.process.dead.Load() || c.lost {
		h.mu.Unlock()
		return zero, fmt.Errorf("%s on %s: %w", info.Op, h.name, errLost)
	}
	if info.At = time.Now(); changes && opts.OnCall != nil {
		opts.OnCall(info)
	}
	var arrived func()
	arrived = func() {
		if h.freezeAtCreate && info.Op == "create" {
			h.freezeAtCreate = false
			h.freeze()
			h.send(0, true, arrived) // waits for the thaw
			return
		}
		exec(func(value T, err error) {
			if changes && h.loseAnswers > 0 {
				h.loseAnswers--
				return
			}
			h.send(h.fleet.pick(opts.Answer, "answer", h.name, info.Op, info.UUID), true, func() {
				answers <- answer[T]{value, err}
			})
		})
	}
	h.send(h.fleet.pick(opts.Latency, "call", h.name, info.Op, info.UUID), true, arrived)
	h.mu.Unlock()
	if changes && c.process.Moment != nil {
		c.process.Moment(true, info)
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		c.Close()
		return zero, fmt.Errorf("%s on %s: no answer: %w", info.Op, h.name, ctx.Err())
	case <-c.gone:
		return zero, fmt.Errorf("%s on %s: %w", info.Op, h.name, errLost)
	}
}
