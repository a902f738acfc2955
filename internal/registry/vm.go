package registry

import (
	"context"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// CreateVM stores a new VM and returns it as stored.
func (r *Registry) CreateVM(ctx context.Context, vm *v1.VirtualMachine) (*v1.VirtualMachine, error) {
	return write(ctx, r, vm, createOnly)
}

// UpdateVM replaces spec, labels and annotations of a VM and returns it. A resourceVersion in vm that is older than the stored
// spec is a ConflictError; the rest of what only the server writes is ignored.
func (r *Registry) UpdateVM(ctx context.Context, vm *v1.VirtualMachine) (*v1.VirtualMachine, error) {
	return write(ctx, r, vm, updateOnly)
}

// GetVM reads one VM. An empty namespace means "default", here and wherever one VM is named.
func (r *Registry) GetVM(ctx context.Context, namespace, name string) (*v1.VirtualMachine, error) {
	o, _, err := r.get(ctx, kindVM, namespace, name)
	if err != nil {
		return nil, err
	}
	return o.(*v1.VirtualMachine), nil
}

// ListVMs reads the VMs of a namespace, or of all when it is empty, sorted; the string is the resourceVersion to watch from.
func (r *Registry) ListVMs(ctx context.Context, namespace string) ([]*v1.VirtualMachine, string, error) {
	return List[*v1.VirtualMachine](ctx, r, Scope{Namespace: namespace})
}

// DeleteOptions of a deletion.
type DeleteOptions struct {
	// Force: the guest may be switched off without being asked.
	Force bool
	// UID that the VM must have; empty means any.
	UID string
}

// DeleteVM asks for a VM's deletion and returns the VM: it is gone once nothing of it is left on any host. Asking again is no
// error and may add Force. No disk is deleted, ever.
func (r *Registry) DeleteVM(ctx context.Context, namespace, name string, o DeleteOptions) (*v1.VirtualMachine, error) {
	var vm *v1.VirtualMachine
	err := retry(ctx, func() error {
		old, kv, err := r.get(ctx, kindVM, namespace, name)
		if err != nil {
			return err
		}
		next := *old.(*v1.VirtualMachine)
		vm = &next
		if o.UID != "" && o.UID != vm.Metadata.UID {
			return &ConflictError{Ref: v1.RefTo(vm), Field: "metadata.uid",
				Problem: fmt.Sprintf("this VM's uid is %s, not %s: another VM has taken the name", vm.Metadata.UID, o.UID),
				Remedy:  "look at it, and delete it by its own uid if you mean this one"}
		}
		if vm.Metadata.DeletionTimestamp == nil {
			now := r.timestamp()
			vm.Metadata.DeletionTimestamp = &now
		}
		vm.Metadata.DeletionForce = vm.Metadata.DeletionForce || o.Force
		p := r.plan()
		p.replace(kv, old, vm)
		return p.finish(ctx, vm)
	})
	if err != nil {
		return nil, err
	}
	return vm, nil
}

// write makes one object as wanted, in a transaction of its own.
func write[O v1.Object](ctx context.Context, r *Registry, wanted O, m mode) (O, error) {
	var stored v1.Object
	err := retry(ctx, func() (err error) {
		p := r.plan()
		if stored, err = p.set(ctx, wanted, m); err != nil {
			return err
		}
		return p.finish(ctx, stored)
	})
	if err != nil {
		var none O
		return none, err
	}
	return stored.(O), nil
}

// finish commits a plan for one object and notes the object's new version.
func (p *plan) finish(ctx context.Context, o v1.Object) error {
	version, err := p.commit(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", v1.RefTo(o), err)
	}
	if version != "" {
		o.GetMetadata().ResourceVersion = version
	}
	return nil
}
