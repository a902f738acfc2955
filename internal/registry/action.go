package registry

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/google/uuid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// The time to live of an action: after it an action that could not take effect is given up, so that it does not surprise people
// who have long done something else.
const (
	DefaultActionTTL = 10 * time.Minute
	MaxActionTTL     = 24 * time.Hour
)

// ActionRequest is what a client asks for.
type ActionRequest struct {
	// ID is the client's request id: letters, digits, '-', '_' and '.', at most 63. Empty means a new one; a client that wants
	// to retry safely chooses its own.
	ID   string
	Type v1.ActionType
	// Force (stop, restart): switch the guest off without asking it.
	Force bool
	// By says who asks; it is shown.
	By string
	// TTL is how long the action may wait for its effect. Zero means DefaultActionTTL.
	TTL time.Duration
}

var actionID = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// PostAction stores an action for a VM; once it returns, the action cannot be lost. The same id and content again is the same
// action, which is returned as it is now; the same id with other content is a ConflictError.
func (r *Registry) PostAction(ctx context.Context, namespace, vmName string, req ActionRequest) (*v1.Action, error) {
	vmRef := kindVM.ref(namespace, vmName)
	if err := req.complete(); err != nil {
		return nil, err
	}
	var action *v1.Action
	err := retry(ctx, func() error {
		existing, err := r.GetAction(ctx, vmRef.Namespace, req.ID)
		if err == nil {
			action = existing
			return req.sameAs(existing, vmName)
		}
		if !errors.As(err, new(*NotFoundError)) {
			return err
		}
		o, vmKV, err := r.get(ctx, kindVM, vmRef.Namespace, vmName)
		if err != nil {
			return err
		}
		vm := o.GetMetadata()
		if vm.DeletionTimestamp != nil {
			return &TerminatingError{Ref: vmRef}
		}
		now := r.timestamp()
		action = &v1.Action{
			TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindAction},
			Metadata: v1.ObjectMeta{Name: req.ID, Namespace: vmRef.Namespace, UID: uuid.NewString(), Generation: 1, CreationTimestamp: now},
			Spec: v1.ActionSpec{Type: req.Type, VM: vmName, VMUID: vm.UID, Force: req.Force, By: req.By,
				ExpiresAt: now.Add(req.TTL).Truncate(time.Millisecond)},
		}
		key := layout.ActionSpecKey(vmRef.Namespace, req.ID)
		p := r.plan()
		p.txn = store.Txn{
			If:  []store.Cond{{Key: key, Kind: store.Absent}, {Key: vmKV.Key, Kind: store.CreatedAt, Revision: vmKV.CreateRevision}},
			Put: []store.KV{{Key: key, Value: layout.EncodeActionSpec(action)}},
		}
		return p.finish(ctx, action)
	})
	if err != nil {
		return nil, err
	}
	return action, nil
}

// complete fills what a request leaves open, and says what is wrong with it.
func (q *ActionRequest) complete() error {
	if q.ID == "" {
		q.ID = uuid.NewString()
	}
	if q.TTL == 0 {
		q.TTL = DefaultActionTTL
	}
	ref := v1.ObjectRef{Kind: v1.KindAction, Name: q.ID}
	switch {
	case !actionID.MatchString(q.ID):
		return invalid(ref, "metadata.name", fmt.Sprintf("%q is not a request id", q.ID),
			"use letters, digits, '-', '_' and '.', at most 63, e.g. a UUID")
	case q.Type != v1.ActionStart && q.Type != v1.ActionStop && q.Type != v1.ActionRestart:
		return invalid(ref, "spec.type", fmt.Sprintf("%q is not an action", q.Type), "use start, stop or restart")
	case q.Force && q.Type == v1.ActionStart:
		return invalid(ref, "spec.force", "a start cannot be forced", "leave force out; to start anew what runs, use restart")
	case q.TTL < 0 || q.TTL > MaxActionTTL:
		return invalid(ref, "spec.expiresAt", fmt.Sprintf("a time to live of %s is not possible", q.TTL),
			fmt.Sprintf("choose more than zero and at most %s", v1.Duration(MaxActionTTL)))
	}
	return nil
}

// sameAs is nil when the request is the one that an action was made from.
func (q *ActionRequest) sameAs(a *v1.Action, vmName string) error {
	if a.Spec.Type == q.Type && a.Spec.VM == vmName && a.Spec.Force == q.Force && a.Spec.By == q.By {
		return nil
	}
	return &ConflictError{Ref: v1.RefTo(a), Field: "metadata.name",
		Problem: fmt.Sprintf("the request id was used already, to %s VM %s", a.Spec.Type, a.Spec.VM),
		Remedy:  "use a new id for each new request; reuse one only to repeat the very same request"}
}

// GetAction reads one action.
func (r *Registry) GetAction(ctx context.Context, namespace, id string) (*v1.Action, error) {
	o, _, err := r.get(ctx, kindAction, namespace, id)
	if err != nil {
		return nil, err
	}
	return o.(*v1.Action), nil
}

// ListActions reads the actions of a namespace, or of all when it is empty; the string is the resourceVersion to watch from.
func (r *Registry) ListActions(ctx context.Context, namespace string) ([]*v1.Action, string, error) {
	return List[*v1.Action](ctx, r, Scope{Namespace: namespace})
}
