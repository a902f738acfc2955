package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// info describes a call to observers.
func (c *conn) info(op, uuid, instance string) Call {
	return Call{Process: c.process.name, Host: c.host.name, Op: op, UUID: uuid, Instance: instance}
}

// Facts implements hypervisor.Conn.
func (c *conn) Facts(ctx context.Context) (hypervisor.Facts, error) {
	return call(ctx, c, c.info("facts", "", ""), func(reply func(hypervisor.Facts, error)) {
		facts := c.host.facts
		facts.BootID, facts.Uptime = fmt.Sprintf("%s-boot-%d", c.host.name, c.host.boots), time.Since(c.host.booted)
		reply(facts, nil)
	})
}

// List implements hypervisor.Conn.
func (c *conn) List(ctx context.Context) ([]hypervisor.Domain, error) {
	return call(ctx, c, c.info("list", "", ""), func(reply func([]hypervisor.Domain, error)) { reply(c.host.list(), nil) })
}

// Look implements hypervisor.Conn.
func (c *conn) Look(ctx context.Context, uuid string) (hypervisor.Domain, bool, error) {
	d, err := call(ctx, c, c.info("look", uuid, ""), func(reply func(*hypervisor.Domain, error)) {
		if d := c.host.domains[uuid]; d != nil {
			shown := d.show()
			reply(&shown, nil)
			return
		}
		reply(nil, nil)
	})
	if d == nil {
		return hypervisor.Domain{}, false, err
	}
	return *d, true, err
}

// Define implements hypervisor.Conn.
func (c *conn) Define(ctx context.Context, m hypervisor.Machine) error {
	info, h := c.info("define", m.VMUID, m.InstanceID), c.host
	info.Memory, info.Namespace, info.Name, info.Machine = m.Template.Memory, m.Namespace, m.Name, m.MachineType
	d := &domain{
		uuid: m.VMUID, name: m.DomainName(), clusterUID: m.ClusterUID, vmUID: m.VMUID, instance: m.InstanceID,
		memory: m.Template.Memory, vcpus: m.Template.CPU.VCPUs(), guest: h.fleet.opts.Guest(m),
	}
	return c.change(ctx, info, func(reply func(error)) {
		switch old := h.domains[d.uuid]; {
		case old != nil && (old.vmUID != m.VMUID || old.clusterUID != m.ClusterUID):
			reply(&hypervisor.HostError{Op: "define domain", Message: fmt.Sprintf(
				"operation failed: domain '%s' with uuid %s belongs to somebody else", old.name, old.uuid)})
		case old != nil && old.run != nil:
			reply(hypervisor.ErrActive)
		case h.facts.MachineTypes[m.MachineType] == "":
			reply(&hypervisor.HostError{Op: "define domain", Message: fmt.Sprintf(
				"unsupported configuration: Emulator '/usr/bin/qemu-system-x86_64' does not support machine type '%s'", m.MachineType)})
		default:
			d.missing = h.missing(m)
			h.add(d, by{CauseCall, "define", c.process.name})
			reply(nil)
		}
	})
}

// missing is libvirt's text about the first pool or network of the template that the host has not; empty when all are there.
func (h *Host) missing(m hypervisor.Machine) string {
	t := &m.Template
	pools := []string{}
	for _, d := range t.Disks {
		pools = append(pools, d.Pool)
	}
	for _, d := range t.CDROMs {
		pools = append(pools, d.Pool)
	}
	if t.CloudInit != nil {
		pools = append(pools, t.CloudInit.Pool)
	}
	for _, p := range pools {
		if p != "" && !slices.Contains(h.facts.Pools, p) {
			return fmt.Sprintf("Storage pool not found: no storage pool with matching name '%s'", p)
		}
	}
	for _, n := range t.NICs {
		if n.Network != "" && !slices.Contains(h.facts.Networks, n.Network) {
			return fmt.Sprintf("Network not found: no network with matching name '%s'", n.Network)
		}
	}
	return ""
}

// Create implements hypervisor.Conn.
func (c *conn) Create(ctx context.Context, uuid, instance string) error {
	return c.onInstance(ctx, "create", uuid, instance, func(d *domain, who by, reply func(error)) {
		switch {
		case d.run == nil:
			c.host.start(d, who, reply)
		case d.why == hypervisor.WhyStartup:
			d.run.starting = append(d.run.starting, reply)
		default:
			reply(nil)
		}
	})
}

// Shutdown implements hypervisor.Conn.
func (c *conn) Shutdown(ctx context.Context, uuid, instance string) error {
	return c.onInstance(ctx, "shutdown", uuid, instance, func(d *domain, who by, reply func(error)) {
		if d.run != nil {
			c.host.askGuest(d, who)
		}
		reply(nil)
	})
}

// Destroy implements hypervisor.Conn.
func (c *conn) Destroy(ctx context.Context, uuid, instance string) error {
	return c.onInstance(ctx, "destroy", uuid, instance, func(d *domain, who by, reply func(error)) {
		if d.run != nil {
			c.host.switchOff(d, hypervisor.WhyDestroyed, who)
		}
		reply(nil)
	})
}

// Undefine implements hypervisor.Conn.
func (c *conn) Undefine(ctx context.Context, uuid, instance string, _ bool) error {
	return c.onInstance(ctx, "undefine", uuid, instance, func(d *domain, who by, reply func(error)) {
		if d.run != nil {
			reply(hypervisor.ErrActive)
			return
		}
		c.host.remove(d, who)
		reply(nil)
	})
}

func (c *conn) change(ctx context.Context, info Call, exec func(reply func(error))) error {
	_, err := call(ctx, c, info, func(reply func(struct{}, error)) {
		exec(func(err error) { reply(struct{}{}, err) })
	})
	return err
}

func (c *conn) onInstance(ctx context.Context, op, uuid, instance string, exec func(d *domain, who by, reply func(error))) error {
	return c.change(ctx, c.info(op, uuid, instance), func(reply func(error)) {
		switch d := c.host.domains[uuid]; {
		case d == nil:
			reply(hypervisor.ErrNotFound)
		case d.instance == "" || d.instance != instance:
			reply(hypervisor.ErrOtherInstance)
		default:
			exec(d, by{CauseCall, op, c.process.name}, reply)
		}
	})
}
