package libvirt

import (
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// bootPool is a storage pool that a host may have to tell its boots apart: its only volume's name differs with each. It holds nothing
// for VMs.
const bootPool = "holdfast-boot"

// bootID is the name of the volume in bootPool; empty when the host has no such pool, or the pool does not have just one volume.
func bootID(v *golibvirt.Libvirt) (string, error) {
	pool, err := v.StoragePoolLookupByName(bootPool)
	if hasCode(err, golibvirt.ErrNoStoragePool) || hasCode(err, golibvirt.ErrNoSupport) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if active, err := v.StoragePoolIsActive(pool); err != nil || active == 0 {
		return "", err
	}
	names, err := v.StoragePoolListVolumes(pool, 2)
	if err == nil && len(names) != 1 {
		// It may have been made after libvirtd had looked through the pool.
		if err = v.StoragePoolRefresh(pool, 0); err == nil {
			names, err = v.StoragePoolListVolumes(pool, 2)
		}
	}
	if err != nil || len(names) != 1 {
		return "", err
	}
	return names[0], nil
}

// uptime is how long the machine's CPUs have been counting what they do, which is since its boot: their time busy, idle and waiting,
// of all of them together, by their number. What a hypervisor below has taken from them (steal) is missing.
func uptime(v *golibvirt.Libvirt, cpus int) (time.Duration, error) {
	all := int32(golibvirt.NodeCPUStatsAllCpus)
	_, count, err := v.NodeGetCPUStats(all, 0, 0)
	if hasCode(err, golibvirt.ErrNoSupport) || err == nil && (count == 0 || cpus == 0) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	stats, _, err := v.NodeGetCPUStats(all, count, 0)
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, s := range stats {
		switch s.Field {
		case "kernel", "user", "idle", "iowait":
			total += time.Duration(s.Value)
		}
	}
	return total / time.Duration(cpus), nil
}
