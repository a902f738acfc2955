package conformance

import (
	"context"
	"slices"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func facts(b *bench) {
	var got hypervisor.Facts
	b.must("facts", func(ctx context.Context) (err error) {
		got, err = b.conn.Facts(ctx)
		return err
	})
	for field, ok := range map[string]bool{
		"UUID":           len(got.UUID) == 36,
		"Hostname":       got.Hostname != "",
		"Memory":         got.Memory > 0,
		"CPUs":           got.CPUs > 0,
		"LibvirtVersion": got.LibvirtVersion != "",
		"QEMUVersion":    got.QEMUVersion != "",
		"Accelerator":    got.Accelerator == "kvm" || got.Accelerator == "tcg",
		"MachineTypes":   got.MachineTypes["q35"] != "",
		"Pools":          slices.IsSorted(got.Pools),
		"Networks":       slices.IsSorted(got.Networks),
		"BootID, Uptime": got.BootID != "" || got.Uptime > 0,
	} {
		if !ok {
			b.Errorf("%s is not sane: %+v", field, got)
		}
	}
	for name, canonical := range got.MachineTypes {
		if got.MachineTypes[canonical] != canonical {
			b.Errorf("machine type %s resolves to %s, which does not resolve to itself", name, canonical)
		}
	}
	later := got
	b.must("facts again", func(ctx context.Context) (err error) {
		later, err = b.conn.Facts(ctx)
		return err
	})
	if later.BootID != got.BootID || later.Uptime < got.Uptime {
		b.Errorf("the same boot is %q, up %s, and then %q, up %s", got.BootID, got.Uptime, later.BootID, later.Uptime)
	}
}

// defineDoesNotStart: a defined domain is known, inactive, carries its identity, and an event names it.
func defineDoesNotStart(b *bench) {
	m := b.machine(Obedient)
	if _, found := b.look(b.conn, m.VMUID); found {
		b.Fatal("the domain is there before it was defined")
	}
	b.define(m)
	got, found := b.look(b.conn, m.VMUID)
	want := hypervisor.Domain{
		UUID: m.VMUID, Name: m.DomainName(), ClusterUID: m.ClusterUID, VMUID: m.VMUID, InstanceID: m.InstanceID,
		State: hypervisor.DomainInactive, Why: hypervisor.WhyUnknown,
	}
	if !found || got != want {
		b.Errorf("defined domain:\n got %+v\nwant %+v", got, want)
	}
	if listed := b.list()[m.VMUID]; listed != want {
		b.Errorf("defined domain in the list:\n got %+v\nwant %+v", listed, want)
	}
	b.anyEvent(m)
}

// createStarts: the domain runs and shows the room it takes.
func createStarts(b *bench) {
	m := b.started(Obedient)
	got, _ := b.look(b.conn, m.VMUID)
	if got.InstanceID != m.InstanceID || got.VMUID != m.VMUID || got.ClusterUID != m.ClusterUID {
		b.Errorf("a running domain lost its identity: %+v", got)
	}
	if got.Memory != m.Template.Memory || got.VCPUs != m.Template.CPU.VCPUs() {
		b.Errorf("it shows %v and %d CPUs, want %v and %d", got.Memory, got.VCPUs, m.Template.Memory, m.Template.CPU.VCPUs())
	}
	listed := b.list()[m.VMUID]
	if listed.State != hypervisor.DomainRunning || listed.InstanceID != m.InstanceID || listed.Memory != got.Memory {
		b.Errorf("the list shows %+v, a look %+v", listed, got)
	}
	b.anyEvent(m)
}

func createTwice(b *bench) {
	m := b.started(Obedient)
	b.create(m)
	if d, _ := b.look(b.conn, m.VMUID); d.State != hypervisor.DomainRunning {
		b.Errorf("after a second create the domain is %s", d.State)
	}
}

// createRefused: the host says why, and the domain is defined and inactive.
func createRefused(b *bench) {
	m := b.machine(Unstartable)
	b.define(m)
	b.expectHostError("create", b.call(func(ctx context.Context) error { return b.conn.Create(ctx, m.VMUID, m.InstanceID) }))
	d, found := b.look(b.conn, m.VMUID)
	if !found || d.State != hypervisor.DomainInactive || d.InstanceID != m.InstanceID || d.Why != hypervisor.WhyFailed {
		b.Errorf("after a refused create the domain is %+v (found: %v)", d, found)
	}
}

func shutdownIsObeyed(b *bench) {
	m := b.started(Obedient)
	b.eventually(func() bool {
		b.must("shutdown", func(ctx context.Context) error { return b.conn.Shutdown(ctx, m.VMUID, m.InstanceID) })
		d, _ := b.look(b.conn, m.VMUID)
		return d.State == hypervisor.DomainInactive
	}, func() string { return "the guest was asked again and again and did not shut down" })
	b.expectEnd(m, hypervisor.WhyShutdown, "shutdown-guest")
}

func shutdownMayBeIgnored(b *bench) {
	m := b.started(Deaf)
	b.must("shutdown", func(ctx context.Context) error { return b.conn.Shutdown(ctx, m.VMUID, m.InstanceID) })
	if d, _ := b.look(b.conn, m.VMUID); d.State != hypervisor.DomainRunning {
		b.Errorf("a guest that ignores the request is %s", d.State)
	}
	b.must("destroy", func(ctx context.Context) error { return b.conn.Destroy(ctx, m.VMUID, m.InstanceID) })
	b.expectEnd(m, hypervisor.WhyDestroyed, hypervisor.WhyDestroyed)
}

func guestPowersOff(b *bench) {
	m := b.machine(PowersOff)
	b.define(m)
	b.create(m)
	b.waitFor(b.conn, m, hypervisor.DomainInactive)
	b.expectEnd(m, hypervisor.WhyShutdown, "shutdown-guest")
}

func guestPanics(b *bench) {
	m := b.machine(Panics)
	b.define(m)
	b.create(m)
	b.waitFor(b.conn, m, hypervisor.DomainInactive)
	b.expectEnd(m, hypervisor.WhyCrashed, hypervisor.WhyCrashed)
}

// expectEnd: the domain stays defined, and state and event agree about how it ended.
func (b *bench) expectEnd(m hypervisor.Machine, why, ended string) {
	b.Helper()
	d := b.waitFor(b.conn, m, hypervisor.DomainInactive)
	if d.Why != why || d.InstanceID != m.InstanceID || d.Memory != 0 || d.VCPUs != 0 {
		b.Errorf("the domain ended as %+v, want %s, with its instance id and no room taken", d, why)
	}
	if got := b.endEvent(m); got != ended {
		b.Errorf("the event says it ended as %q, want %q", got, ended)
	}
}

// endedTwice: asking an inactive domain to end is not an error.
func endedTwice(b *bench) {
	m := b.machine(Obedient)
	b.define(m)
	b.must("shutdown of an inactive domain", func(ctx context.Context) error {
		return b.conn.Shutdown(ctx, m.VMUID, m.InstanceID)
	})
	b.must("destroy of an inactive domain", func(ctx context.Context) error {
		return b.conn.Destroy(ctx, m.VMUID, m.InstanceID)
	})
}
