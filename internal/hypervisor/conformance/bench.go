package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// bench is what one subtest works with: a connection of its own, and the events that came over it.
type bench struct {
	*testing.T
	Fixture
	conn hypervisor.Conn
}

func newBench(t *testing.T, f Fixture) *bench {
	b := &bench{T: t, Fixture: f}
	b.conn = b.connect()
	return b
}

// connect makes another connection, which ends with the test.
func (b *bench) connect() hypervisor.Conn {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), b.CallTimeout)
	defer cancel()
	conn, err := b.Driver.Connect(ctx, b.URI)
	if err != nil {
		b.Fatalf("connect to %s: %v", b.URI, err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call bounds one call by the fixture's deadline.
func (b *bench) call(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.CallTimeout)
	defer cancel()
	return f(ctx)
}

// must is call for what has to succeed.
func (b *bench) must(what string, f func(context.Context) error) {
	b.Helper()
	if err := b.call(f); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// machine describes a new machine, and sees to it that no domain of it outlives the test.
func (b *bench) machine(guest Guest) hypervisor.Machine {
	m := b.Machine(b.T, guest)
	b.Cleanup(func() {
		conn := b.connect()
		d, found := b.look(conn, m.VMUID)
		if !found {
			return
		}
		b.must("destroy at the end of the test", func(ctx context.Context) error {
			return conn.Destroy(ctx, d.UUID, d.InstanceID)
		})
		b.must("undefine at the end of the test", func(ctx context.Context) error {
			return conn.Undefine(ctx, d.UUID, d.InstanceID, true)
		})
	})
	return m
}

func (b *bench) define(m hypervisor.Machine) {
	b.Helper()
	b.must("define", func(ctx context.Context) error { return b.conn.Define(ctx, m) })
}

func (b *bench) create(m hypervisor.Machine) {
	b.Helper()
	b.must("create", func(ctx context.Context) error { return b.conn.Create(ctx, m.VMUID, m.InstanceID) })
}

// started defines and starts a new machine, and waits until it runs.
func (b *bench) started(guest Guest) hypervisor.Machine {
	b.Helper()
	m := b.machine(guest)
	b.define(m)
	b.create(m)
	b.waitFor(b.conn, m, hypervisor.DomainRunning)
	return m
}

func (b *bench) look(conn hypervisor.Conn, uuid string) (d hypervisor.Domain, found bool) {
	b.Helper()
	b.must("look", func(ctx context.Context) (err error) {
		d, found, err = conn.Look(ctx, uuid)
		return err
	})
	return d, found
}

func (b *bench) list() map[string]hypervisor.Domain {
	b.Helper()
	found := map[string]hypervisor.Domain{}
	b.must("list", func(ctx context.Context) error {
		domains, err := b.conn.List(ctx)
		for _, d := range domains {
			if _, twice := found[d.UUID]; twice {
				b.Errorf("the list has domain %s twice", d.UUID)
			}
			found[d.UUID] = d
		}
		return err
	})
	return found
}

// waitFor looks until the machine's domain is in the state.
func (b *bench) waitFor(conn hypervisor.Conn, m hypervisor.Machine, state hypervisor.DomainState) hypervisor.Domain {
	b.Helper()
	var last hypervisor.Domain
	b.eventually(func() bool {
		d, found := b.look(conn, m.VMUID)
		last = d
		return found && d.State == state
	}, func() string {
		return "the domain never became " + string(state) + "; it is " + string(last.State) + " (" + last.Why + ")"
	})
	return last
}

// eventually tries until ok holds; past the fixture's patience the test fails, with what failed says.
func (b *bench) eventually(ok func() bool, failed func() string) {
	b.Helper()
	deadline := time.Now().Add(b.Patience)
	for tick := time.NewTicker(50 * time.Millisecond); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			b.Fatal(failed())
		}
	}
}

// endEvent waits for the event that says how the machine's domain ended.
func (b *bench) endEvent(m hypervisor.Machine) string {
	b.Helper()
	late := time.After(b.Patience)
	for {
		select {
		case ev, open := <-b.conn.Events():
			if !open {
				b.Fatal("the connection broke while the test waited for an event")
			}
			if ev.UUID == m.VMUID && ev.Ended != "" {
				return ev.Ended
			}
		case <-late:
			b.Fatal("no event told how the domain ended")
		}
	}
}

// anyEvent waits for an event that names the machine's domain.
func (b *bench) anyEvent(m hypervisor.Machine) {
	b.Helper()
	late := time.After(b.Patience)
	for {
		select {
		case ev, open := <-b.conn.Events():
			if !open {
				b.Fatal("the connection broke while the test waited for an event")
			}
			if ev.UUID == m.VMUID {
				return
			}
		case <-late:
			b.Fatal("no event named the domain")
		}
	}
}

// eventsClose waits until the connection says that it is lost.
func (b *bench) eventsClose(conn hypervisor.Conn) {
	b.Helper()
	late := time.After(b.CallTimeout)
	for {
		select {
		case _, open := <-conn.Events():
			if !open {
				return
			}
		case <-late:
			b.Fatal("the connection is lost, but Events was not closed")
		}
	}
}

// expectIs wants an error that is target.
func (b *bench) expectIs(what string, err, target error) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Errorf("%s: got error %v, want %v", what, err, target)
	}
}

// expectHostError wants the host's own answer, with words in it.
func (b *bench) expectHostError(what string, err error) {
	b.Helper()
	var he *hypervisor.HostError
	if !errors.As(err, &he) || he.Op == "" || he.Message == "" {
		b.Errorf("%s: got error %v, want a HostError that says what was done and what the host answered", what, err)
	}
}

// expectUnanswered wants an error after which the call may still be carried out.
func (b *bench) expectUnanswered(what string, err error) {
	b.Helper()
	if err == nil || hypervisor.Answered(err) {
		b.Errorf("%s: got error %v, want one that does not claim to be the host's answer", what, err)
	}
}
