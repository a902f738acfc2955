package client

import (
	"context"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// CreateVM creates a VM; one of the same name is a conflict. An empty namespace means the default one.
func (c *Client) CreateVM(ctx context.Context, vm *v1.VirtualMachine) (*v1.VirtualMachine, error) {
	return vms.create(ctx, c, vm)
}

// UpdateVM replaces a VM's labels, annotations and spec. With a resource version it is a conflict when they have changed since
// that was read; without one it overwrites.
func (c *Client) UpdateVM(ctx context.Context, vm *v1.VirtualMachine) (*v1.VirtualMachine, error) {
	return vms.update(ctx, c, vm)
}

// GetVM reads one VM. An empty namespace means the default one.
func (c *Client) GetVM(ctx context.Context, namespace, name string) (*v1.VirtualMachine, error) {
	return vms.get(ctx, c, namespace, name)
}

// ListVMs reads the VMs of a namespace; empty means of all.
func (c *Client) ListVMs(ctx context.Context, namespace string, o ListOptions) (*v1.List[v1.VirtualMachine], error) {
	return vms.list(ctx, c, namespace, o.query())
}

// DeleteVM asks for a VM's deletion: its guest is shut down first, its disks are kept. The VM returned has a deletion timestamp;
// it is gone when a later read says so.
func (c *Client) DeleteVM(ctx context.Context, namespace, name string, o DeleteOptions) (*v1.VirtualMachine, error) {
	return vms.delete(ctx, c, namespace, name, o)
}

// WatchVMs reports the VMs of a namespace (empty: of all) and what becomes of them. See Watch.
func (c *Client) WatchVMs(ctx context.Context, namespace string, o WatchOptions) Watch[v1.VirtualMachine] {
	return vms.watch(ctx, c, namespace, o)
}

// WaitVM calls cond with the VM as it is and then after each change, until cond says done or returns an error, or ctx ends. cond
// gets nil when the VM does not exist (any more). WaitVM returns the VM of the last call.
func (c *Client) WaitVM(ctx context.Context, namespace, name string,
	cond func(*v1.VirtualMachine) (done bool, err error)) (*v1.VirtualMachine, error) {
	return vms.wait(ctx, c, namespace, name, cond)
}
