package conformance

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// guarded runs every call that names an instance.
func (b *bench) guarded(conn hypervisor.Conn, uuid, instance string) map[string]error {
	return map[string]error{
		"create":   b.call(func(ctx context.Context) error { return conn.Create(ctx, uuid, instance) }),
		"shutdown": b.call(func(ctx context.Context) error { return conn.Shutdown(ctx, uuid, instance) }),
		"destroy":  b.call(func(ctx context.Context) error { return conn.Destroy(ctx, uuid, instance) }),
		"undefine": b.call(func(ctx context.Context) error { return conn.Undefine(ctx, uuid, instance, true) }),
	}
}

// otherInstance: a call for an instance never touches another one, running or not.
func otherInstance(b *bench) {
	m := b.machine(Obedient)
	b.define(m)
	for _, state := range []hypervisor.DomainState{hypervisor.DomainInactive, hypervisor.DomainRunning} {
		if state == hypervisor.DomainRunning {
			b.create(m)
		}
		for _, instance := range []string{"another", ""} {
			for what, err := range b.guarded(b.conn, m.VMUID, instance) {
				b.expectIs(what+" for instance \""+instance+"\"", err, hypervisor.ErrOtherInstance)
			}
		}
		if d, found := b.look(b.conn, m.VMUID); !found || d.State != state || d.InstanceID != m.InstanceID {
			b.Errorf("the domain was %s; calls for another instance left it as %+v (found: %v)", state, d, found)
		}
	}
}

func unknownDomain(b *bench) {
	for what, err := range b.guarded(b.conn, uuid.NewString(), "any") {
		b.expectIs(what, err, hypervisor.ErrNotFound)
	}
}

// definitionIsReplaced: the next instance takes the place of an inactive one, whose id is then refused.
func definitionIsReplaced(b *bench) {
	old := b.machine(Obedient)
	b.define(old)
	next := old
	next.InstanceID = old.InstanceID + "-next"
	next.Template.Memory = old.Template.Memory + 32<<20
	b.define(next)
	b.define(next) // the same again changes nothing
	if d, _ := b.look(b.conn, old.VMUID); d.InstanceID != next.InstanceID || d.State != hypervisor.DomainInactive {
		b.Fatalf("after the replacement the domain is %+v", d)
	}
	b.expectIs("create of the replaced instance", b.call(func(ctx context.Context) error {
		return b.conn.Create(ctx, old.VMUID, old.InstanceID)
	}), hypervisor.ErrOtherInstance)
	b.create(next)
	if d := b.waitFor(b.conn, next, hypervisor.DomainRunning); d.Memory != next.Template.Memory || d.InstanceID != next.InstanceID {
		b.Errorf("the replacement runs as %+v, want memory %v", d, next.Template.Memory)
	}
}

// activeIsNotRedefined: what runs keeps its definition, whoever asks.
func activeIsNotRedefined(b *bench) {
	m := b.started(Obedient)
	next := m
	next.InstanceID = m.InstanceID + "-next"
	b.expectIs("define over a running domain", b.call(func(ctx context.Context) error {
		return b.conn.Define(ctx, next)
	}), hypervisor.ErrActive)
	b.expectIs("undefine of a running domain", b.call(func(ctx context.Context) error {
		return b.conn.Undefine(ctx, m.VMUID, m.InstanceID, false)
	}), hypervisor.ErrActive)
	d, found := b.look(b.conn, m.VMUID)
	if !found || d.State != hypervisor.DomainRunning || d.InstanceID != m.InstanceID {
		b.Errorf("after refused calls the domain is %+v (found: %v)", d, found)
	}
}

// undefineRemoves: a domain that was undefined is gone, and a create that comes late finds nothing to start.
func undefineRemoves(b *bench) {
	for _, state := range []bool{false, true} {
		m := b.machine(Obedient)
		b.define(m)
		b.must("undefine", func(ctx context.Context) error { return b.conn.Undefine(ctx, m.VMUID, m.InstanceID, state) })
		if d, found := b.look(b.conn, m.VMUID); found {
			b.Errorf("after undefine the domain is %+v", d)
		}
		if _, listed := b.list()[m.VMUID]; listed {
			b.Error("after undefine the domain is in the list")
		}
		b.expectIs("late create", b.call(func(ctx context.Context) error {
			return b.conn.Create(ctx, m.VMUID, m.InstanceID)
		}), hypervisor.ErrNotFound)
		b.define(m)
		if _, found := b.look(b.conn, m.VMUID); !found {
			b.Error("the domain cannot be defined again")
		}
	}
}

// foreignIsSeenNeverChanged: a domain of somebody else counts, and no call touches it.
func foreignIsSeenNeverChanged(b *bench) {
	foreign := b.Foreign(b.T)
	before, found := b.look(b.conn, foreign)
	if !found || before.State != hypervisor.DomainRunning || before.Memory <= 0 || before.VCPUs <= 0 {
		b.Fatalf("the foreign domain shows as %+v (found: %v), want it running, with memory and CPUs", before, found)
	}
	if before.ClusterUID != "" || before.VMUID != "" || before.InstanceID != "" {
		b.Errorf("the foreign domain seems to be ours: %+v", before)
	}
	for _, instance := range []string{"any", ""} {
		for what, err := range b.guarded(b.conn, foreign, instance) {
			b.expectIs(what+" of a foreign domain", err, hypervisor.ErrOtherInstance)
		}
	}
	if after := b.list()[foreign]; after != before {
		b.Errorf("the foreign domain was changed:\n got %+v\nwant %+v", after, before)
	}
}

// foreignIsNotReplaced: a domain of another VM or cluster that happens to have the UUID is no definition of ours to replace.
func foreignIsNotReplaced(b *bench) {
	foreign := b.Foreign(b.T)
	m := b.Machine(b.T, Obedient)
	m.VMUID = foreign
	b.expectHostError("define over a foreign domain", b.call(func(ctx context.Context) error { return b.conn.Define(ctx, m) }))

	ours := b.machine(Obedient)
	b.define(ours)
	theirs := ours
	theirs.ClusterUID = uuid.NewString()
	b.expectHostError("define over another cluster's domain", b.call(func(ctx context.Context) error {
		return b.conn.Define(ctx, theirs)
	}))
	if d, _ := b.look(b.conn, ours.VMUID); d.ClusterUID != ours.ClusterUID {
		b.Errorf("the domain changed hands: %+v", d)
	}
}

// manyCallsAtOnce: a connection serves callers side by side.
func manyCallsAtOnce(b *bench) {
	m := b.machine(Obedient)
	b.define(m)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			err := b.call(func(ctx context.Context) error {
				if _, err := b.conn.List(ctx); err != nil {
					return err
				}
				_, _, err := b.conn.Look(ctx, m.VMUID)
				return err
			})
			if err != nil {
				b.Errorf("one of many calls: %v", err)
			}
		})
	}
	all.Wait()
}
