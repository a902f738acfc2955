package conformance

import (
	"context"
	"errors"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// short is a deadline that a frozen host is sure to miss.
const short = 500 * time.Millisecond

// dead: a connection that is lost says so and answers nothing.
func (b *bench) dead(conn hypervisor.Conn) {
	b.Helper()
	b.eventsClose(conn)
	b.expectUnanswered("a call on a lost connection", b.call(func(ctx context.Context) error {
		_, err := conn.List(ctx)
		return err
	}))
}

func closeEndsEverything(b *bench) {
	conn := b.connect()
	if err := conn.Close(); err != nil {
		b.Errorf("close: %v", err)
	}
	b.dead(conn)
	if err := conn.Close(); err != nil {
		b.Errorf("second close: %v", err)
	}
}

func cutEndsEverything(b *bench) {
	if b.Cut == nil {
		b.Skip("the fixture cannot cut connections")
	}
	b.Cut(b.T)
	b.dead(b.conn)
	b.look(b.connect(), "00000000-0000-4000-8000-000000000000")
}

// frozenHost: a deadline ends the call and the connection with it; the host's state is untouched.
func frozenHost(b *bench) {
	if b.Freeze == nil {
		b.Skip("the fixture cannot freeze the host")
	}
	m := b.started(Obedient)
	thaw := b.Freeze(b.T)
	defer thaw()
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	_, err := b.conn.List(ctx)
	b.expectUnanswered("list on a frozen host", err)
	if !errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("list on a frozen host: got error %v, want the deadline's", err)
	}
	b.dead(b.conn)
	thaw()
	if d, found := b.look(b.connect(), m.VMUID); !found || d.State != hypervisor.DomainRunning {
		b.Errorf("after the thaw the domain is %+v (found: %v)", d, found)
	}
}

func connectToFrozenHost(b *bench) {
	if b.Freeze == nil {
		b.Skip("the fixture cannot freeze the host")
	}
	thaw := b.Freeze(b.T)
	defer thaw()
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	conn, err := b.Driver.Connect(ctx, b.URI)
	b.expectUnanswered("connect to a frozen host", err)
	if err == nil {
		_ = conn.Close()
	}
}

// lateCreate: a create whose caller has given up is carried out when the host thaws, once.
func lateCreate(b *bench) {
	if b.FreezeAtCreate == nil {
		b.Skip("the fixture cannot freeze the host at a create")
	}
	m := b.machine(Obedient)
	b.define(m)
	thaw := b.FreezeAtCreate(b.T)
	defer thaw()
	// Long enough for the request to get there, also on a machine that is short of time.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	b.expectUnanswered("create on a host that freezes", b.conn.Create(ctx, m.VMUID, m.InstanceID))
	b.dead(b.conn)
	thaw()
	conn := b.connect()
	if d := b.waitFor(conn, m, hypervisor.DomainRunning); d.InstanceID != m.InstanceID {
		b.Errorf("the late create started %+v", d)
	}
	b.must("create again", func(ctx context.Context) error { return conn.Create(ctx, m.VMUID, m.InstanceID) })
}

// frozenWhileSeedIsWritten: a deadline also ends a call that is busy sending, and what it has left half done is in nobody's way.
func frozenWhileSeedIsWritten(b *bench) {
	if b.FreezeAtSeed == nil {
		b.Skip("the fixture cannot freeze the host at a seed")
	}
	m := b.machine(Obedient)
	// More than fits into the buffers in between, so that the sender has to wait.
	m.Template.CloudInit = &v1.CloudInit{Pool: b.Pool, UserData: "#cloud-config\n" + strings.Repeat("# ............\n", 1<<20)}
	thaw := b.FreezeAtSeed(b.T)
	defer thaw()
	// Long enough for the seed to be made, also on a machine that is short of time.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := b.conn.Define(ctx, m)
	b.expectUnanswered("define on a host that freezes", err)
	b.expectIs("define on a host that freezes", err, context.DeadlineExceeded)
	b.dead(b.conn)
	thaw()
	conn := b.connect()
	b.eventually(func() bool { // the host may go on with what it was sent for a while, and refuse until then
		err = b.call(func(ctx context.Context) error { return conn.Define(ctx, m) })
		return err == nil
	}, func() string { return "the machine cannot be defined after the thaw: " + err.Error() })
	b.must("create", func(ctx context.Context) error { return conn.Create(ctx, m.VMUID, m.InstanceID) })
	b.waitFor(conn, m, hypervisor.DomainRunning)
}
