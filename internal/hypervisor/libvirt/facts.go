package libvirt

import (
	"context"
	"fmt"
	"slices"

	golibvirt "github.com/digitalocean/go-libvirt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Facts implements hypervisor.Conn.
func (c *conn) Facts(ctx context.Context) (hypervisor.Facts, error) {
	caps, err := c.caps.get(ctx, c)
	if err != nil {
		return hypervisor.Facts{}, err
	}
	f := hypervisor.Facts{UUID: caps.hostUUID, Accelerator: "tcg", MachineTypes: caps.machines, UEFI: caps.uefi}
	if caps.kvm {
		f.Accelerator = "kvm"
	}
	err = c.ask(ctx, "get facts", func(v *golibvirt.Libvirt) error {
		if f.Hostname, err = v.ConnectGetHostname(); err != nil {
			return err
		}
		_, memoryKiB, cpus, _, _, _, _, _, err := v.NodeGetInfo()
		if err != nil {
			return err
		}
		f.Memory, f.CPUs = v1.Quantity(memoryKiB)<<10, int(cpus)
		libvirtVersion, err := v.ConnectGetLibVersion()
		if err != nil {
			return err
		}
		qemuVersion, err := v.ConnectGetVersion()
		if err != nil {
			return err
		}
		f.LibvirtVersion, f.QEMUVersion = version(libvirtVersion), version(qemuVersion)
		if f.BootID, err = bootID(v); err != nil {
			return err
		}
		if f.Uptime, err = uptime(v, f.CPUs); err != nil {
			return err
		}
		if f.Pools, err = activePools(v); err != nil {
			return err
		}
		f.Networks, err = activeNetworks(v)
		return err
	})
	return f, err
}

// version unpacks libvirt's way of writing a version as a number.
func version(n uint64) string { return fmt.Sprintf("%d.%d.%d", n/1_000_000, n/1_000%1_000, n%1_000) }

// activePools, those that can hold something for VMs, and activeNetworks are empty on a host whose libvirt comes without that driver.
func activePools(v *golibvirt.Libvirt) ([]string, error) {
	pools, _, err := v.ConnectListAllStoragePools(1, golibvirt.ConnectListStoragePoolsActive)
	if err != nil && !hasCode(err, golibvirt.ErrNoSupport) {
		return nil, err
	}
	var names []string
	for _, p := range pools {
		if p.Name != bootPool {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func activeNetworks(v *golibvirt.Libvirt) ([]string, error) {
	networks, _, err := v.ConnectListAllNetworks(1, golibvirt.ConnectListNetworksActive)
	if err != nil && !hasCode(err, golibvirt.ErrNoSupport) {
		return nil, err
	}
	names := make([]string, len(networks))
	for i, n := range networks {
		names[i] = n.Name
	}
	slices.Sort(names)
	return names, nil
}
