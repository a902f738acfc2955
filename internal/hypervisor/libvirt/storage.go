package libvirt

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// media is where QEMU finds the bytes of a disk.
type media struct {
	path  string
	block bool // a block device, not a file
}

// volumeMedia finds a volume's path. Domains name paths, not volumes: a live migration then needs no pool of the same name on the
// other side, only the same path.
func (c *conn) volumeMedia(ctx context.Context, op string, ref volumeRef) (media, error) {
	var found media
	err := c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		vol, there, err := lookupVolume(v, op, ref)
		if err != nil {
			return err
		}
		if !there {
			return refusal(op, "storage pool %q has no volume %q on the host", ref.Pool, ref.Volume)
		}
		kind, _, _, err := v.StorageVolGetInfo(vol)
		if err != nil {
			return err
		}
		switch golibvirt.StorageVolType(kind) {
		case golibvirt.StorageVolFile:
		case golibvirt.StorageVolBlock:
			found.block = true
		default:
			return refusal(op, "volume %q of pool %q is neither a file nor a block device of the host: such volumes are not supported",
				ref.Volume, ref.Pool)
		}
		found.path, err = v.StorageVolGetPath(vol)
		return err
	})
	return found, err
}

// lookupPool finds an active pool.
func lookupPool(v *golibvirt.Libvirt, op, name string) (golibvirt.StoragePool, error) {
	pool, err := v.StoragePoolLookupByName(name)
	if hasCode(err, golibvirt.ErrNoStoragePool) {
		return pool, refusal(op, "the host has no storage pool %q: %v", name, err)
	}
	if err != nil {
		return pool, err
	}
	active, err := v.StoragePoolIsActive(pool)
	if err == nil && active == 0 {
		return pool, refusal(op, "storage pool %q is not active on the host: start it with \"virsh pool-start %s\"", name, name)
	}
	return pool, err
}

// lookupVolume finds a volume; false when the pool has none of that name. libvirt knows what a pool held when it last looked;
// another host may have made the volume since, so the pool is looked through again before the volume counts as missing.
func lookupVolume(v *golibvirt.Libvirt, op string, ref volumeRef) (golibvirt.StorageVol, bool, error) {
	pool, err := lookupPool(v, op, ref.Pool)
	if err != nil {
		return golibvirt.StorageVol{}, false, err
	}
	vol, err := v.StorageVolLookupByName(pool, ref.Volume)
	if hasCode(err, golibvirt.ErrNoStorageVol) {
		if err = v.StoragePoolRefresh(pool, 0); err == nil {
			vol, err = v.StorageVolLookupByName(pool, ref.Volume)
		}
	}
	if hasCode(err, golibvirt.ErrNoStorageVol) {
		return vol, false, nil
	}
	return vol, err == nil, err
}

// refusal is a HostError in our words about what the host has.
func refusal(op, format string, args ...any) error {
	return &hypervisor.HostError{Op: op, Message: fmt.Sprintf(format, args...)}
}

// putVolume makes a volume with that content, in place of one of the same name.
func (c *conn) putVolume(ctx context.Context, op string, ref volumeRef, content []byte) error {
	size := uint64(len(content))
	description, err := (&libvirtxml.StorageVolume{
		Name:     ref.Volume,
		Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: size},
		Target:   &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	}).Marshal()
	if err != nil {
		return fmt.Errorf("%s: describe volume %s: %w", op, ref.Volume, err)
	}
	return c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		pool, err := lookupPool(v, op, ref.Pool)
		if err != nil {
			return err
		}
		vol, err := v.StorageVolCreateXML(pool, description, 0)
		if err != nil {
			// The usual reason is one of the same name, left by a define that nobody waited for.
			old, there, lookupErr := lookupVolume(v, op, ref)
			if lookupErr != nil || !there {
				return err
			}
			if err := v.StorageVolDelete(old, golibvirt.StorageVolDeleteNormal); err != nil {
				return err
			}
			if vol, err = v.StorageVolCreateXML(pool, description, 0); err != nil {
				return err
			}
		}
		return v.StorageVolUpload(vol, bytes.NewReader(content), 0, size, 0)
	})
}

// deleteVolume removes a volume; one that is not there is as wanted.
func (c *conn) deleteVolume(ctx context.Context, op string, ref volumeRef) error {
	return c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		vol, there, err := lookupVolume(v, op, ref)
		if err != nil || !there {
			return err
		}
		return v.StorageVolDelete(vol, golibvirt.StorageVolDeleteNormal)
	})
}

// deleteOtherSeeds removes the seeds of the domain's other instances, as far as libvirt knows them: a define that nobody waited for may
// have left one, and nobody else would ever remove it. Seeds hold secrets. When an instance is defined, and when its VM is deleted, all
// others have ended.
func (c *conn) deleteOtherSeeds(ctx context.Context, op string, keep volumeRef, domain string) error {
	return c.work(ctx, op, func(v *golibvirt.Libvirt) error {
		pool, err := lookupPool(v, op, keep.Pool)
		if err != nil {
			return err
		}
		volumes, _, err := v.StoragePoolListAllVolumes(pool, 1, 0)
		for _, vol := range volumes {
			if vol.Name != keep.Volume && isSeedOf(domain, vol.Name) {
				err = errors.Join(err, v.StorageVolDelete(vol, golibvirt.StorageVolDeleteNormal))
			}
		}
		return err
	})
}
