package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// CreateHost stores a new host and returns it as stored.
func (r *Registry) CreateHost(ctx context.Context, h *v1.Host) (*v1.Host, error) {
	return write(ctx, r, h, createOnly)
}

// UpdateHost replaces spec, labels and annotations of a host, as UpdateVM does for a VM.
func (r *Registry) UpdateHost(ctx context.Context, h *v1.Host) (*v1.Host, error) {
	return write(ctx, r, h, updateOnly)
}

// GetHost reads one host.
func (r *Registry) GetHost(ctx context.Context, name string) (*v1.Host, error) {
	o, _, err := r.get(ctx, kindHost, "", name)
	if err != nil {
		return nil, err
	}
	return o.(*v1.Host), nil
}

// ListHosts reads all hosts, sorted; the string is the resourceVersion to watch from.
func (r *Registry) ListHosts(ctx context.Context) ([]*v1.Host, string, error) {
	return List[*v1.Host](ctx, r, Scope{})
}

// SetUnschedulable keeps new instances away from a host, or lets them come again, and returns the host.
func (r *Registry) SetUnschedulable(ctx context.Context, name string, unschedulable bool) (*v1.Host, error) {
	var host *v1.Host
	err := retry(ctx, func() error {
		old, kv, err := r.get(ctx, kindHost, "", name)
		if err != nil {
			return err
		}
		next := *old.(*v1.Host)
		host = &next
		host.Spec.Unschedulable = unschedulable
		p := r.plan()
		p.replace(kv, old, host)
		return p.finish(ctx, host)
	})
	if err != nil {
		return nil, err
	}
	return host, nil
}

// DeleteHost makes Holdfast forget a host. It is refused while a VM has an instance there or left something behind; what was left on
// a host that a person has confirmed to be down counts no more.
func (r *Registry) DeleteHost(ctx context.Context, name string) error {
	return retry(ctx, func() error {
		o, kv, err := r.get(ctx, kindHost, "", name)
		if err != nil {
			return err
		}
		vms, _, err := r.ListVMs(ctx, "")
		if err != nil {
			return err
		}
		if users := usersOf(o.(*v1.Host), vms); len(users) > 0 {
			return &ConflictError{Ref: v1.RefTo(o), Problem: "these VMs are on the host or left something there: " + strings.Join(users, ", "),
				Remedy: removalRemedy(o.(*v1.Host))}
		}
		_, err = r.st.Txn(ctx, store.Txn{
			If:     []store.Cond{{Key: kv.Key, Kind: store.ModIs, Revision: kv.ModRevision}},
			Delete: []string{kv.Key, kindHost.statuses + name},
		})
		if err != nil {
			return fmt.Errorf("delete %s: %w", v1.RefTo(o), err)
		}
		return nil
	})
}

// usersOf names the VMs that have something on a host.
func usersOf(h *v1.Host, vms []*v1.VirtualMachine) []string {
	name, down := h.Metadata.Name, isFenced(h)
	var users []string
	for _, vm := range vms {
		i := vm.Status.Instance
		if i != nil && i.Host == name || !down && slices.Contains(vm.Status.Leftovers, name) {
			users = append(users, vm.Metadata.Namespace+"/"+vm.Metadata.Name)
		}
	}
	return users
}

func removalRemedy(h *v1.Host) string {
	if h.Status.State == v1.HostUnreachable {
		return "the host is Unreachable: bring it back, or, if it is gone for good, say so (holdfast host confirm-down " + h.Metadata.Name + ") and remove it then"
	}
	return "cordon the host, stop them or move them away, and remove the host when it is empty and reachable"
}
