package libvirt

import (
	"context"
	"errors"
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// guard looks at the domain before a call that could harm a guest, and goes on only when it is that instance.
func (c *conn) guard(ctx context.Context, op, id, instance string) (*hypervisor.Domain, identity, error) {
	d, ident, err := c.find(ctx, id)
	switch {
	case err != nil:
		return nil, identity{}, fmt.Errorf("%s: %w", op, err)
	case d == nil:
		return nil, identity{}, fmt.Errorf("%s: %w", op, hypervisor.ErrNotFound)
	case ident.foreign():
		return nil, identity{}, fmt.Errorf("%s: %w: it is not Holdfast's", op, hypervisor.ErrOtherInstance)
	case ident.InstanceID != instance:
		return nil, identity{}, fmt.Errorf("%s: %w: it is %s, not %s", op, hypervisor.ErrOtherInstance, ident.InstanceID, instance)
	}
	return d, ident, nil
}

// handle names the domain in calls; libvirt finds it by its UUID.
func handle(d *hypervisor.Domain) golibvirt.Domain {
	return golibvirt.Domain{Name: d.Name, UUID: golibvirt.UUID(uuid.MustParse(d.UUID)), ID: -1}
}

// Create implements hypervisor.Conn. A managed save that somebody left is thrown away, not resumed: it is another instance's
// memory, and the disks have moved on.
func (c *conn) Create(ctx context.Context, id, instance string) error {
	op := "start domain " + id
	d, _, err := c.guard(ctx, op, id, instance)
	if err != nil {
		return err
	}
	if d.State != hypervisor.DomainInactive {
		return nil
	}
	err = c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		_, err := v.DomainCreateWithFlags(handle(d), uint32(golibvirt.DomainStartForceBoot))
		return err
	})
	if !hasCode(err, golibvirt.ErrOperationInvalid) {
		return err
	}
	// "Already running", when an earlier create that nobody waited for came first.
	if d, _, again := c.guard(ctx, op, id, instance); again == nil && d.State != hypervisor.DomainInactive {
		return nil
	}
	return err
}

// Shutdown implements hypervisor.Conn. It presses the power button rather than asking the guest agent: the button works without an
// agent, and an agent that hangs would hold the domain's lock.
func (c *conn) Shutdown(ctx context.Context, id, instance string) error {
	return c.end(ctx, "shut down domain "+id, id, instance, func(v *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return v.DomainShutdownFlags(dom, golibvirt.DomainShutdownAcpiPowerBtn)
	})
}

// Destroy implements hypervisor.Conn.
func (c *conn) Destroy(ctx context.Context, id, instance string) error {
	return c.end(ctx, "switch off domain "+id, id, instance, func(v *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return v.DomainDestroyFlags(dom, golibvirt.DomainDestroyDefault)
	})
}

// end runs a call that ends an active domain. One that has ended, before or meanwhile, is as was wanted.
func (c *conn) end(ctx context.Context, op, id, instance string, f func(*golibvirt.Libvirt, golibvirt.Domain) error) error {
	d, _, err := c.guard(ctx, op, id, instance)
	if err != nil || d.State == hypervisor.DomainInactive {
		return err
	}
	err = c.work(ctx, op, func(v *golibvirt.Libvirt) error { return f(v, handle(d)) })
	if !hasCode(err, golibvirt.ErrOperationInvalid) {
		return err
	}
	if d, _, again := c.guard(ctx, op, id, instance); again == nil && d.State == hypervisor.DomainInactive {
		return nil
	}
	return err
}

// keepTPMSince is the first libvirt that can keep a vTPM's state when a domain is undefined (8.9.0); older ones never remove it.
const keepTPMSince = 8_009_000

// Undefine implements hypervisor.Conn. The seed goes too: it was made for this instance alone. Should that fail, the definition is
// gone all the same, because a dead pool must not keep a VM from starting elsewhere; the error names the file that stays.
func (c *conn) Undefine(ctx context.Context, id, instance string, state bool) error {
	op := "undefine domain " + id
	d, ident, err := c.guard(ctx, op, id, instance)
	if err != nil {
		return err
	}
	if d.State != hypervisor.DomainInactive {
		return fmt.Errorf("%s: %w", op, hypervisor.ErrActive)
	}
	err = c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		version, err := v.ConnectGetLibVersion()
		if err != nil {
			return err
		}
		return v.DomainUndefineFlags(handle(d), undefineFlags(state, version))
	})
	if err != nil || ident.Seed == nil {
		return err
	}
	if state { // the VM is gone, and so are all of its instances
		_ = c.deleteOtherSeeds(ctx, op, *ident.Seed, d.Name)
	}
	err = c.deleteVolume(ctx, op, *ident.Seed)
	var he *hypervisor.HostError
	if errors.As(err, &he) {
		return &hypervisor.HostError{Op: op, Message: fmt.Sprintf("the definition is gone, but cloud-init's seed, volume %s of pool %s, stays: %s",
			ident.Seed.Volume, ident.Seed.Pool, he.Message)}
	}
	return err
}

func undefineFlags(state bool, libvirtVersion uint64) golibvirt.DomainUndefineFlagsValues {
	flags := golibvirt.DomainUndefineManagedSave | golibvirt.DomainUndefineSnapshotsMetadata | golibvirt.DomainUndefineCheckpointsMetadata
	if state {
		flags |= golibvirt.DomainUndefineNvram
	} else {
		flags |= golibvirt.DomainUndefineKeepNvram
	}
	if libvirtVersion >= keepTPMSince {
		if state {
			flags |= golibvirt.DomainUndefineTpm
		} else {
			flags |= golibvirt.DomainUndefineKeepTpm
		}
	}
	return flags
}
