package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/google/uuid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// mode says what a write expects to find.
type mode int

const (
	createOnly mode = iota
	updateOnly
	createOrUpdate
)

// What became of an object.
const (
	Created    = "created"
	Configured = "configured"
	Unchanged  = "unchanged"
)

// plan is one transaction in the making. All that it was built from is among its conditions, so that it happens exactly as
// planned, or is planned anew.
type plan struct {
	r   *Registry
	txn store.Txn
	// objects in the plan, by the key of their spec.
	objects map[string]bool
	// claimed are the index keys that the plan takes, with who takes them.
	claimed map[string]v1.ObjectRef
}

func (r *Registry) plan() *plan {
	return &plan{r: r, objects: map[string]bool{}, claimed: map[string]v1.ObjectRef{}}
}

// set plans that an object becomes as the document wants, and returns what it will be.
func (p *plan) set(ctx context.Context, d v1.Document, m mode) (v1.Object, string, error) {
	wanted := d.Object
	k := kindOf(wanted)
	o, err := normalized(k, wanted)
	if err != nil {
		return nil, "", err
	}
	meta := o.GetMetadata()
	ref := k.ref(meta.Namespace, meta.Name)
	key := k.specs + k.id(ref.Namespace, ref.Name)
	if p.objects[key] {
		return nil, "", invalid(ref, "metadata.name", "the same object comes twice in one request", "keep one of the two")
	}
	p.objects[key] = true
	seen := wanted.GetMetadata().ResourceVersion
	old, kv, err := p.r.get(ctx, k, ref.Namespace, ref.Name)
	if errors.As(err, new(*NotFoundError)) {
		if err := mayCreate(ref, seen, m); err != nil {
			return nil, "", err
		}
		*meta = v1.ObjectMeta{Name: meta.Name, Namespace: ref.Namespace, Labels: meta.Labels, Annotations: meta.Annotations,
			UID: uuid.NewString(), Generation: 1, CreationTimestamp: p.r.timestamp()}
		p.txn.If = append(p.txn.If, store.Cond{Key: key, Kind: store.Absent})
		p.txn.Put = append(p.txn.Put, store.KV{Key: key, Value: encodeSpec(o)})
		return o, Created, p.claim(ctx, o)
	}
	if err != nil {
		return nil, "", err
	}
	if err := mayUpdate(ref, old, kv, seen, m); err != nil {
		return nil, "", err
	}
	copyStatus(o, old)
	keepUnwritten(d, o, old)
	result, err := p.replace(ctx, kv, old, o)
	return o, result, err
}

// replace plans that old, as read at kv, becomes o. Identity and age stay old's; deletion is o's.
func (p *plan) replace(ctx context.Context, kv store.KV, old, o v1.Object) (string, error) {
	was, meta := old.GetMetadata(), o.GetMetadata()
	meta.UID, meta.Generation, meta.CreationTimestamp = was.UID, was.Generation, was.CreationTimestamp
	newSpec := !bytes.Equal(layout.Encode(specOf(old)), layout.Encode(specOf(o))) ||
		(was.DeletionTimestamp == nil) != (meta.DeletionTimestamp == nil)
	if !newSpec && maps.Equal(was.Labels, meta.Labels) && maps.Equal(was.Annotations, meta.Annotations) &&
		was.DeletionForce == meta.DeletionForce {
		meta.ResourceVersion = was.ResourceVersion
		return Unchanged, nil
	}
	p.txn.If = append(p.txn.If, store.Cond{Key: kv.Key, Kind: store.ModIs, Revision: kv.ModRevision})
	if newSpec {
		meta.Generation++
		if _, ok := o.(*v1.VirtualMachine); ok {
			// An instance may still be built from the old generation: kept until the engine knows better.
			p.txn.Put = append(p.txn.Put, store.KV{Key: layout.RevisionKey(was.UID, was.Generation), Value: kv.Value})
		}
	}
	p.txn.Put = append(p.txn.Put, store.KV{Key: kv.Key, Value: encodeSpec(o)})
	if !newSpec || meta.DeletionTimestamp != nil {
		return Configured, nil
	}
	return Configured, p.claim(ctx, o)
}

// claim plans the index keys that an object needs; only VMs need any. Those that the VM no longer needs stay: an instance may still use what they stand for; the
// engine removes them when none does.
func (p *plan) claim(ctx context.Context, o v1.Object) error {
	vm, ok := o.(*v1.VirtualMachine)
	if !ok {
		return nil
	}
	ref := v1.RefTo(vm)
	me := layout.ClaimOwner{UID: ref.UID, Namespace: ref.Namespace, Name: ref.Name}
	for _, c := range layout.Claims(vm) {
		if other, ok := p.claimed[c.Key]; ok {
			return claimed(ref, c, other)
		}
		p.claimed[c.Key] = ref
		kv, err := p.r.st.Get(ctx, c.Key)
		if err != nil {
			return fmt.Errorf("look up who owns %s: %w", c.What, err)
		}
		p.txn.If = append(p.txn.If, store.Cond{Key: c.Key, Kind: store.ModIs, Revision: kv.ModRevision})
		if kv.ModRevision == 0 {
			p.txn.Put = append(p.txn.Put, store.KV{Key: c.Key, Value: layout.Encode(me)})
			continue
		}
		var owner layout.ClaimOwner
		if err := json.Unmarshal(kv.Value, &owner); err != nil {
			return fmt.Errorf("decode %s: %w", c.Key, err)
		}
		if owner.UID != me.UID {
			return claimed(ref, c, v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID})
		}
	}
	return nil
}

func claimed(ref v1.ObjectRef, c layout.Claim, other v1.ObjectRef) error {
	return &ConflictError{Ref: ref, Field: c.Field, Other: &other,
		Problem: fmt.Sprintf("%s belongs to %s", c.What, other),
		Remedy:  "choose another one, or remove it there first (a running VM keeps what it was started with until it ends)"}
}

// commit does what was planned and returns the resourceVersion. store.ErrConflict means: plan anew.
func (p *plan) commit(ctx context.Context) (string, error) {
	if len(p.txn.Put) == 0 && len(p.txn.Delete) == 0 {
		return "", nil
	}
	if err := p.fits(); err != nil {
		return "", err
	}
	revision, err := p.r.st.Txn(ctx, p.txn)
	if err != nil {
		return "", fmt.Errorf("write to the store: %w", err)
	}
	return strconv.FormatInt(revision, 10), nil
}

// fits says whether one transaction can hold the plan.
func (p *plan) fits() error {
	if n := max(len(p.txn.If), len(p.txn.Put)+len(p.txn.Delete)); n > store.MaxTxnOps {
		return &TooLargeError{Ops: n}
	}
	return nil
}

// normalized is a copy of what a user sent with defaults set and without what only the server writes; an InvalidError says what
// is wrong with it.
func normalized(k *kind, o v1.Object) (v1.Object, error) {
	c, err := k.decode(store.KV{Value: encodeSpec(o)}, nil)
	if err != nil {
		return nil, err
	}
	v1.SetDefaults(c)
	m := c.GetMetadata()
	m.ResourceVersion, m.DeletionTimestamp, m.DeletionForce = "", nil, false
	if problems := v1.Validate(c); len(problems) > 0 {
		return nil, &InvalidError{Ref: k.ref(m.Namespace, m.Name), Fields: problems}
	}
	return c, nil
}

// keepUnwritten leaves alone what commands change and manifests seldom name: applying a host's manifest again must not lift its
// cordon.
func keepUnwritten(d v1.Document, o, old v1.Object) {
	if h, ok := o.(*v1.Host); ok && !d.Wrote("spec.unschedulable") {
		h.Spec.Unschedulable = old.(*v1.Host).Spec.Unschedulable
	}
}

// mayCreate says whether an object that does not exist may be created, given the resourceVersion that the client has seen.
func mayCreate(ref v1.ObjectRef, seen string, m mode) error {
	switch {
	case m == updateOnly:
		return &NotFoundError{Ref: ref}
	case seen != "":
		return &ConflictError{Ref: ref, Field: "metadata.resourceVersion",
			Problem: "the object does not exist (any more), and the request is about version " + seen + " of it",
			Remedy:  "remove resourceVersion to create it anew"}
	}
	return nil
}

// mayUpdate says whether an object that exists, as old read at kv, may be replaced.
func mayUpdate(ref v1.ObjectRef, old v1.Object, kv store.KV, seen string, m mode) error {
	if m == createOnly {
		return &ConflictError{Ref: ref, Field: "metadata.name", Problem: "the object exists already",
			Remedy: "choose another name, or change the one that exists"}
	}
	if old.GetMetadata().DeletionTimestamp != nil {
		return &TerminatingError{Ref: ref}
	}
	if seen == "" {
		return nil
	}
	version, err := strconv.ParseInt(seen, 10, 64)
	if err != nil || version <= 0 {
		return invalid(ref, "metadata.resourceVersion", fmt.Sprintf("%q is not a resourceVersion", seen),
			"leave it as the server sent it, or remove it to overwrite whatever is there")
	}
	if kv.ModRevision > version {
		return &ConflictError{Ref: ref, Field: "metadata.resourceVersion",
			Problem: "somebody else has changed the object since version " + seen,
			Remedy:  "read it again and repeat the change, or remove resourceVersion to overwrite"}
	}
	return nil
}
