package registry

import (
	"context"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// ConfirmHostDown records a person's word that a host runs nothing, so that its VMs start elsewhere, and returns the host. by says
// whose word it is; empty when that is not known. It is a ConflictError unless the host is unreachable at that very moment: a word
// about a host that answers must not lie about until the host does not.
func (r *Registry) ConfirmHostDown(ctx context.Context, name, by string) (*v1.Host, error) {
	var host *v1.Host
	err := retry(ctx, func() error {
		found, err := r.lookUp(ctx, kindHost.keys(name))
		if err != nil {
			return err
		}
		old, kv, err := kindHost.joined(name, found)
		if err != nil {
			return err
		}
		next := *old.(*v1.Host)
		host = &next
		if host.Status.State != v1.HostUnreachable {
			return notDown(host)
		}
		host.Spec.ConfirmedDown = &v1.ConfirmedDown{By: by, At: r.timestamp()}
		p := r.plan()
		p.replace(kv, old, host)
		status := found[kindHost.statuses+name]
		p.txn.If = append(p.txn.If, store.Cond{Key: status.Key, Kind: store.ModIs, Revision: status.ModRevision})
		return p.finish(ctx, host)
	})
	if err != nil {
		return nil, err
	}
	return host, nil
}

// notDown says why nobody's word is taken for it that the host is down.
func notDown(h *v1.Host) error {
	e := &ConflictError{Ref: v1.RefTo(h),
		Problem: "it is not known to be unreachable: the control plane is still trying to connect to it",
		Remedy:  "wait until it is Up or Unreachable, and look again"}
	if state := h.Status.State; state == v1.HostUp || state == v1.HostRefused {
		e.Problem = "it is " + string(state) + ", so its libvirt answers, or did so a moment ago"
		e.Remedy = "if it has just gone down, wait until it is Unreachable (15 seconds); to keep new instances away from it, cordon it"
	}
	return e
}

// isFenced reports whether a person's word that the host is down has been acted on, since it was lost last.
func isFenced(h *v1.Host) bool {
	return h.Status.State == v1.HostUnreachable && h.Status.FencedAt.After(h.Status.LostAt)
}

// keepWord keeps a person's word that a host is down: a manifest neither takes it back nor gives it.
func keepWord(ref v1.ObjectRef, o, old v1.Object) error {
	h, ok := o.(*v1.Host)
	if !ok {
		return nil
	}
	var kept *v1.ConfirmedDown
	if old != nil {
		kept = old.(*v1.Host).Spec.ConfirmedDown
	}
	if said := h.Spec.ConfirmedDown; said != nil && (kept == nil || said.By != kept.By || !said.At.Equal(kept.At)) {
		return invalid(ref, "spec.confirmedDown", "a manifest cannot vouch for a host being down, since its VMs start elsewhere at once",
			`leave it out; if the host is down, use "holdfast host confirm-down `+ref.Name+`"`)
	}
	h.Spec.ConfirmedDown = kept
	return nil
}
