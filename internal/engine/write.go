package engine

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// write makes batches durable, one after another, so that no batch is ever there without all before it. It runs beside the loop,
// which goes on deciding meanwhile.
func (t *term) write(ctx context.Context) {
	for {
		var b *batch
		select {
		case <-ctx.Done():
			return
		case b = <-t.batches:
		}
		if err := t.commit(ctx, b); err != nil {
			t.end(fmt.Errorf("write %d keys: %w", len(b.changes), err))
			return
		}
		t.durable <- b // has room for all that are under way
	}
}

// commit writes one batch in one transaction that carries the fence.
func (t *term) commit(ctx context.Context, b *batch) error {
	if len(b.changes) == 0 {
		return nil
	}
	txn := store.Txn{If: append([]store.Cond{t.lease.Fence()}, b.ifs...)}
	for _, c := range b.changes {
		if c.remove {
			txn.Delete = append(txn.Delete, c.key)
		} else {
			txn.Put = append(txn.Put, store.KV{Key: c.key, Value: c.value})
		}
	}
	if err := t.giveUpClaims(ctx, b.drops, &txn); err != nil {
		return err
	}
	_, err := t.o.Store.Txn(ctx, txn)
	return err
}

// drop is specs of one VM that go: their claims go too, but for those that a spec which stays makes as well.
type drop struct {
	uid string
	// vm that is removed; nil when only older generations go.
	vm *v1.VirtualMachine
	// generations that go.
	generations []int64
	// stayVM and stay are the specs that stay: the current one and kept generations. For a VM that is being removed in several
	// parts the current spec stays until the last.
	stayVM *v1.VirtualMachine
	stay   []int64
}

// giveUpClaims adds to txn the removal of the index keys that nothing of the VM claims any more. A key that is not the VM's is
// left alone. That the VM's spec is unchanged is a condition of txn already, and nobody claims for a VM without changing it.
func (t *term) giveUpClaims(ctx context.Context, drops []drop, txn *store.Txn) error {
	seen := map[string]bool{}
	for _, d := range drops {
		stay := map[string]bool{}
		addClaims(d.stayVM, stay)
		if err := t.addKeptClaims(ctx, d.uid, d.stay, stay); err != nil {
			return err
		}
		gone := map[string]bool{}
		addClaims(d.vm, gone)
		if err := t.addKeptClaims(ctx, d.uid, d.generations, gone); err != nil {
			return err
		}
		for key := range gone {
			if stay[key] || seen[key] {
				continue
			}
			seen[key] = true
			kv, err := t.o.Store.Get(ctx, key)
			if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			var owner layout.ClaimOwner
			if kv.ModRevision == 0 || json.Unmarshal(kv.Value, &owner) != nil || owner.UID != d.uid {
				continue
			}
			txn.If = append(txn.If, store.Cond{Key: key, Kind: store.ModIs, Revision: kv.ModRevision})
			txn.Delete = append(txn.Delete, key)
		}
	}
	return nil
}

func (t *term) addKeptClaims(ctx context.Context, uid string, generations []int64, to map[string]bool) error {
	for _, g := range generations {
		kv, err := t.o.Store.Get(ctx, layout.RevisionKey(uid, g))
		if err != nil {
			return fmt.Errorf("read generation %d of VM %s: %w", g, uid, err)
		}
		if kv.ModRevision == 0 {
			continue
		}
		vm := &v1.VirtualMachine{}
		if err := json.Unmarshal(kv.Value, vm); err != nil {
			t.o.Log.Error("kept spec cannot be read; what it claims stays claimed", "key", kv.Key, "err", err)
			continue
		}
		addClaims(vm, to)
	}
	return nil
}

// addClaims adds the keys that a spec claims; nil claims nothing.
func addClaims(vm *v1.VirtualMachine, to map[string]bool) {
	if vm == nil {
		return
	}
	for _, c := range layout.Claims(vm) {
		to[c.Key] = true
	}
}
