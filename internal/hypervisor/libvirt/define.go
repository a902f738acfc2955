package libvirt

import (
	"context"
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Define implements hypervisor.Conn. Volumes are found and the seed is written before the definition: what is missing is said
// now, and a domain that is defined can be started. A define that fails takes its seed back.
func (c *conn) Define(ctx context.Context, m hypervisor.Machine) error {
	op := "define domain " + m.DomainName()
	before, err := c.mayDefine(ctx, op, m)
	if err != nil {
		return err
	}
	err = c.defineWithMedia(ctx, op, m)
	// A definition that is there goes on needing its seed, and one that may come yet, because its answer was lost, will need it.
	if err != nil && before.InstanceID != m.InstanceID && m.Template.CloudInit != nil && c.lostCause() == nil && ctx.Err() == nil {
		_ = c.deleteVolume(ctx, op, volumeRef{Pool: m.Template.CloudInit.Pool, Volume: seedName(m)})
	}
	return err
}

func (c *conn) defineWithMedia(ctx context.Context, op string, m hypervisor.Machine) error {
	caps, err := c.caps.get(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	found, err := c.findMedia(ctx, op, m)
	if err != nil {
		return err
	}
	text, err := domainXML(m, caps.domainType(), found)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		_, err := v.DomainDefineXMLFlags(text, golibvirt.DomainDefineValidate)
		return err
	})
}

// mayDefine refuses to replace what is active or not this VM's. It returns whose definition would be replaced.
func (c *conn) mayDefine(ctx context.Context, op string, m hypervisor.Machine) (identity, error) {
	d, id, err := c.find(ctx, m.VMUID)
	switch {
	case err != nil:
		return identity{}, fmt.Errorf("%s: %w", op, err)
	case d == nil:
		return identity{}, nil
	case id.VMUID != m.VMUID || id.ClusterUID != m.ClusterUID:
		return identity{}, refusal(op, "the host has a domain %q with this VM's UUID that is not this cluster's: it is left alone; "+
			"remove it, or give one of the two another UUID", d.Name)
	case d.State != hypervisor.DomainInactive:
		return identity{}, fmt.Errorf("%s: %w", op, hypervisor.ErrActive)
	}
	return id, nil
}

// machineMedia is where the bytes of a machine's disks are, in the order of the template's lists.
type machineMedia struct {
	disks, cdroms []media
	seed          *media // nil without cloud-init
}

// findMedia finds the media, and writes the seed.
func (c *conn) findMedia(ctx context.Context, op string, m hypervisor.Machine) (*machineMedia, error) {
	found := &machineMedia{}
	resolve := func(path, pool, volume string) (media, error) {
		if path != "" {
			return pathMedia(path), nil
		}
		return c.volumeMedia(ctx, op, volumeRef{Pool: pool, Volume: volume})
	}
	for _, d := range m.Template.Disks {
		at, err := resolve(d.Path, d.Pool, d.Volume)
		if err != nil {
			return nil, err
		}
		found.disks = append(found.disks, at)
	}
	for _, d := range m.Template.CDROMs {
		at, err := resolve(d.Path, d.Pool, d.Volume)
		if err != nil {
			return nil, err
		}
		found.cdroms = append(found.cdroms, at)
	}
	if m.Template.CloudInit == nil {
		return found, nil
	}
	image, err := seedImage(seedFiles(m))
	if err != nil {
		return nil, fmt.Errorf("%s: write cloud-init's seed: %w", op, err)
	}
	ref := volumeRef{Pool: m.Template.CloudInit.Pool, Volume: seedName(m)}
	// What an earlier instance could not take along is no reason not to start this one.
	_ = c.deleteOtherSeeds(ctx, op, ref, m.DomainName())
	if err := c.putVolume(ctx, op, ref, image); err != nil {
		return nil, err
	}
	at, err := c.volumeMedia(ctx, op, ref)
	found.seed = &at
	return found, err
}
