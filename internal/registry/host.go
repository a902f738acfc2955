package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// cordonPatience is how long a deletion waits until the control plane has taken a cordon into account. It does so at once.
const cordonPatience = 5 * time.Second

// DeleteHost makes Holdfast forget a host. It is refused while a VM has an instance there or left something behind; what was left on
// a host that a person has confirmed to be down counts no more. It is also refused for a host that is up and not cordoned: the
// control plane could be promising it to a VM at this moment.
func (r *Registry) DeleteHost(ctx context.Context, name string) error {
	patient, cancel := context.WithTimeout(ctx, cordonPatience)
	defer cancel()
	return retry(ctx, func() error {
		// The host comes first and may not change until it is deleted: by then what it was promised before is seen below, and
		// nothing was promised since.
		h, host, err := r.quietHost(ctx, patient, name)
		if err != nil {
			return err
		}
		vms, _, err := r.ListVMs(ctx, "")
		if err != nil {
			return err
		}
		if users := usersOf(h, vms); len(users) > 0 {
			return &ConflictError{Ref: v1.RefTo(h), Problem: "these VMs are on the host or left something there: " + strings.Join(users, ", "),
				Remedy: removalRemedy(h)}
		}
		t := store.Txn{}
		for _, kv := range host {
			t.If = append(t.If, store.Cond{Key: kv.Key, Kind: store.ModIs, Revision: kv.ModRevision})
			t.Delete = append(t.Delete, kv.Key)
		}
		if _, err = r.st.Txn(ctx, t); err != nil {
			return fmt.Errorf("delete %s: %w", v1.RefTo(h), err)
		}
		return nil
	})
}

// quietHost reads a host to which the control plane promises nothing as long as its keys, which it also returns, stay as they are:
// one that is not up, or cordoned with the control plane's knowledge, for which it waits until patient ends. The control plane's
// writes are in the order of its decisions, so what it promised before it knew is written before it says that it knows.
func (r *Registry) quietHost(ctx, patient context.Context, name string) (*v1.Host, []store.KV, error) {
	for {
		keys, at, err := r.st.GetAll(ctx, kindHost.keys(name))
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", kindHost.ref("", name), err)
		}
		o, _, err := kindHost.joined(name, existing(keys))
		if err != nil {
			return nil, nil, err
		}
		h := o.(*v1.Host)
		switch {
		case h.Status.State != v1.HostUp, h.Spec.Unschedulable && h.Status.ObservedGeneration == h.Metadata.Generation:
			return h, keys, nil
		case !h.Spec.Unschedulable:
			return nil, nil, &ConflictError{Ref: v1.RefTo(h), Field: "spec.unschedulable",
				Problem: "the host is up, and an instance could be put on it while it is removed",
				Remedy:  `cordon it first ("holdfast host cordon ` + name + `")`}
		}
		b := <-r.st.Watch(patient, kindHost.statuses+name, at+1)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case patient.Err() != nil:
			return nil, nil, &ConflictError{Ref: v1.RefTo(h), Field: "spec.unschedulable",
				Problem: "the control plane has not noticed yet that the host is cordoned",
				Remedy:  `see whether a server leads ("holdfast version"), and try again`}
		case b.Err != nil:
			return nil, nil, fmt.Errorf("wait until the cordon of %s is noticed: %w", v1.RefTo(h), b.Err)
		}
	}
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
