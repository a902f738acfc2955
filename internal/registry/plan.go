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

// set plans that one object becomes as wanted, and returns what it will be.
func (p *plan) set(ctx context.Context, wanted v1.Object, m mode) (v1.Object, error) {
	wishes, err := p.setAll(ctx, []v1.Document{{Object: wanted}}, m)
	if err != nil {
		return nil, err
	}
	return wishes[0].object, wishes[0].err
}

// wish is one document on its way into a plan.
type wish struct {
	doc v1.Document
	k   *kind
	ref v1.ObjectRef
	// object is what will be stored.
	object v1.Object
	// result is what becomes of it: Created, Configured or Unchanged.
	result string
	// claims: the plan must claim its index keys.
	claims bool
	// err is why it cannot be.
	err error
}

// setAll plans that objects become as documents want, and tells of each what it will be or why it cannot. Whatever their number,
// it asks the store twice: for the objects, and for what they claim.
func (p *plan) setAll(ctx context.Context, docs []v1.Document, m mode) ([]*wish, error) {
	wishes := make([]*wish, len(docs))
	var keys []string
	for i, d := range docs {
		w := p.wish(d)
		if w.err == nil {
			keys = append(keys, w.k.keys(w.id())...)
		}
		wishes[i] = w
	}
	found, err := p.r.lookUp(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("look up what there is: %w", err)
	}
	keys = nil
	for _, w := range wishes {
		if w.err == nil {
			w.err = p.place(w, found, m)
		}
		if w.claims {
			for _, c := range layout.Claims(w.object.(*v1.VirtualMachine)) {
				keys = append(keys, c.Key)
			}
		}
	}
	if found, err = p.r.lookUp(ctx, keys); err != nil {
		return nil, fmt.Errorf("look up who owns the disks, MAC addresses and UUIDs: %w", err)
	}
	for _, w := range wishes {
		if w.claims {
			w.err = p.claim(w.object.(*v1.VirtualMachine), found)
		}
	}
	return wishes, nil
}

// wish checks a document as far as that goes without the store.
func (p *plan) wish(d v1.Document) *wish {
	w := &wish{doc: d, k: kindOf(d.Object)}
	if w.object, w.err = normalized(w.k, d.Object); w.err != nil {
		return w
	}
	meta := w.object.GetMetadata()
	w.ref = w.k.ref(meta.Namespace, meta.Name)
	if key := w.k.specs + w.id(); p.objects[key] {
		w.err = invalid(w.ref, "metadata.name", "the same object comes twice in one request", "keep one of the two")
	} else {
		p.objects[key] = true
	}
	return w
}

func (w *wish) id() string { return w.k.id(w.ref.Namespace, w.ref.Name) }

// place plans that the object is created or replaced, by what there is.
func (p *plan) place(w *wish, found map[string]store.KV, m mode) error {
	meta, seen := w.object.GetMetadata(), w.doc.Object.GetMetadata().ResourceVersion
	old, kv, err := w.k.joined(w.id(), found)
	if errors.As(err, new(*NotFoundError)) {
		if err := mayCreate(w.ref, seen, m); err != nil {
			return err
		}
		if err := keepWord(w.ref, w.object, nil); err != nil {
			return err
		}
		*meta = v1.ObjectMeta{Name: meta.Name, Namespace: w.ref.Namespace, Labels: meta.Labels, Annotations: meta.Annotations,
			UID: uuid.NewString(), Generation: 1, CreationTimestamp: p.r.timestamp()}
		p.txn.If = append(p.txn.If, store.Cond{Key: kv.Key, Kind: store.Absent})
		p.txn.Put = append(p.txn.Put, store.KV{Key: kv.Key, Value: encodeSpec(w.object)})
		w.result, w.claims = Created, w.k == kindVM
		return nil
	}
	if err != nil {
		return err
	}
	if err := mayUpdate(w.ref, old, kv, seen, m); err != nil {
		return err
	}
	copyStatus(w.object, old)
	keepUnwritten(w.doc, w.object, old)
	if err := keepWord(w.ref, w.object, old); err != nil {
		return err
	}
	w.result, w.claims = Unchanged, false
	if changed, newSpec := p.replace(kv, old, w.object); changed {
		w.result, w.claims = Configured, newSpec && w.k == kindVM
	}
	return nil
}

// replace plans that old, as read at kv, becomes o, and tells whether anything changes at all, and the spec. Identity and age stay
// old's; deletion is o's.
func (p *plan) replace(kv store.KV, old, o v1.Object) (changed, newSpec bool) {
	was, meta := old.GetMetadata(), o.GetMetadata()
	meta.UID, meta.Generation, meta.CreationTimestamp = was.UID, was.Generation, was.CreationTimestamp
	newSpec = !bytes.Equal(layout.Encode(specOf(old)), layout.Encode(specOf(o))) ||
		(was.DeletionTimestamp == nil) != (meta.DeletionTimestamp == nil)
	if !newSpec && maps.Equal(was.Labels, meta.Labels) && maps.Equal(was.Annotations, meta.Annotations) &&
		was.DeletionForce == meta.DeletionForce {
		meta.ResourceVersion = was.ResourceVersion
		return false, false
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
	return true, newSpec
}

// claim plans the index keys that a VM needs. Those that it no longer needs stay: an instance may still use what they stand for;
// the engine removes them when none does.
func (p *plan) claim(vm *v1.VirtualMachine, found map[string]store.KV) error {
	ref := v1.RefTo(vm)
	me := layout.ClaimOwner{UID: ref.UID, Namespace: ref.Namespace, Name: ref.Name}
	for _, c := range layout.Claims(vm) {
		if other, ok := p.claimed[c.Key]; ok {
			return claimed(ref, c, other)
		}
		p.claimed[c.Key] = ref
		kv := found[c.Key]
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
	ops, bytes := max(len(p.txn.If), len(p.txn.Put)+len(p.txn.Delete)), p.txn.Size()
	if ops > store.MaxTxnOps || bytes > store.MaxTxnBytes {
		return &TooLargeError{Ops: ops, Bytes: bytes}
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
