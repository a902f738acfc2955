package engine

import (
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// unit is one decision of the core, or housekeeping of the engine's own. Which keys it changes is found out when it is packed,
// because that depends on what the store has by then.
type unit struct {
	core.Unit
	// put and remove are the engine's own changes: news and orphans.
	put    []entry
	remove []string
	// values are the encoded statuses of Writes, in their order; nil for writes that remove.
	values [][]byte
	// orders are Commands with what they need.
	orders []order
	// parts of the unit that are still to be written; nil until it is first packed.
	parts []*part
}

// entry is a key with the value it gets.
type entry struct {
	key   string
	value []byte
}

// part is a set of changes that is written at once: a whole unit, or a piece of a removal too large for one transaction.
type part struct {
	puts    []entry
	deletes []string
	ifs     []store.Cond
	// drops are specs whose claims are given up.
	drops []drop
	// orders leave when this part is durable.
	orders []order
}

// prepare makes a unit of the core's: it encodes what is to be written, while the transaction before is still under way. A VM
// that is removed takes its news along; that is settled now, because news that come with the same decision are to stay.
func (t *term) prepare(u core.Unit) unit {
	out := unit{Unit: u, values: make([][]byte, len(u.Writes))}
	for i, w := range u.Writes {
		switch w := w.(type) {
		case core.WriteVM:
			out.values[i] = layout.Encode(layout.StatusOf[*v1.VirtualMachineStatus]{UID: w.UID, Status: w.Status})
		case core.WriteHost:
			out.values[i] = layout.Encode(layout.StatusOf[*v1.HostStatus]{UID: w.UID, Status: w.Status})
		case core.WriteAction:
			out.values[i] = layout.Encode(layout.StatusOf[v1.ActionStatus]{UID: w.UID, Status: w.Status})
		case core.DeleteVM:
			vm := v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: w.Key.Namespace, Name: w.Key.Name}
			out.remove = append(out.remove, t.news.forget(vm)...)
		}
	}
	for _, c := range u.Commands {
		out.orders = append(out.orders, t.book.order(c))
	}
	return out
}

// split finds the changes of a unit, in the order in which they must become durable: one part, unless the unit removes more kept
// specs than fit. Any prefix of them is valid; the orders are the last one's.
func (t *term) split(u unit) []*part {
	main := &part{puts: u.put, deletes: u.remove}
	var before, after []*part
	for i, w := range u.Writes {
		switch w := w.(type) {
		case core.WriteVM:
			if e := t.book.vms[w.Key]; e == nil || e.uid != w.UID {
				t.o.Log.Error("status of an unknown VM is not written", "vm", w.Key.String(), "uid", w.UID)
				continue
			}
			main.put(layout.VMStatusKey(w.Key.Namespace, w.Key.Name), u.values[i])
		case core.WriteHost:
			// The host may have been removed since the core decided this.
			if e, known := t.book.hosts[w.Name]; known && e.uid == w.UID {
				main.put(layout.HostStatusKey(w.Name), u.values[i])
			}
		case core.WriteAction:
			id := core.VMKey{Namespace: w.Namespace, Name: w.Name}
			if uid, known := t.book.actions[id]; known && uid == w.UID {
				main.put(layout.ActionStatusKey(w.Namespace, w.Name), u.values[i])
			}
		case core.DeleteAction:
			delete(t.book.actions, core.VMKey(w))
			main.deletes = append(main.deletes, layout.ActionSpecKey(w.Namespace, w.Name), layout.ActionStatusKey(w.Namespace, w.Name))
		case core.ReleaseRevisions:
			if e := t.book.vms[w.Key]; e != nil && e.uid == w.UID {
				gone := e.release(w.Before)
				// The decision comes first: until it is durable an instance may be built from these.
				after = append(after, dropRevisions(w.Key, e, gone, e.vm, e.kept)...)
			}
		case core.DeleteVM:
			e := t.book.vms[w.Key]
			if e == nil || e.uid != w.UID {
				t.o.Log.Error("an unknown VM is not removed", "vm", w.Key.String(), "uid", w.UID)
				continue
			}
			delete(t.book.vms, w.Key)
			// The VM comes last: while it is there, a crash in between is made good by removing it again.
			before = append(before, dropRevisions(w.Key, e, e.kept, e.vm, nil)...)
			main.deletes = append(main.deletes, layout.VMSpecKey(w.Key.Namespace, w.Key.Name), layout.VMStatusKey(w.Key.Namespace, w.Key.Name))
			main.ifs = append(main.ifs, unchanged(w.Key, e))
			main.drops = append(main.drops, drop{uid: e.uid, vm: e.vm})
		}
	}
	return assemble(before, main, after, u.orders)
}

func (p *part) put(key string, value []byte) { p.puts = append(p.puts, entry{key, value}) }

// unchanged is the condition that a VM's spec is still the one in the book: what the VM claims follows from it.
func unchanged(key core.VMKey, e *vmEntry) store.Cond {
	return store.Cond{Key: layout.VMSpecKey(key.Namespace, key.Name), Kind: store.ModIs, Revision: e.revision}
}

// revisionsPerPart keeps a part within one transaction, with all that the specs claim.
const revisionsPerPart = 16

// dropRevisions removes the kept specs of some generations, and their claims but for those that the current spec or the
// generations that stay also make.
func dropRevisions(key core.VMKey, e *vmEntry, gone []int64, current *v1.VirtualMachine, stay []int64) []*part {
	var parts []*part
	for chunk := range slices.Chunk(gone, revisionsPerPart) {
		p := &part{ifs: []store.Cond{unchanged(key, e)}}
		for _, g := range chunk {
			p.deletes = append(p.deletes, layout.RevisionKey(e.uid, g))
		}
		p.drops = []drop{{uid: e.uid, generations: chunk, stayVM: current, stay: slices.Clone(stay)}}
		parts = append(parts, p)
	}
	return parts
}

// assemble lays the parts of a unit in order. The first removal joins the main part; only rarely is there another.
func assemble(before []*part, main *part, after []*part, orders []order) []*part {
	if n := len(before); n > 0 {
		main.absorb(before[n-1])
		before = before[:n-1]
	}
	if len(after) > 0 {
		main.absorb(after[0])
		after = after[1:]
	}
	all := slices.Concat(before, []*part{main}, after)
	all[len(all)-1].orders = orders
	return all
}

func (p *part) absorb(q *part) {
	p.deletes = append(p.deletes, q.deletes...)
	p.ifs = append(p.ifs, q.ifs...)
	p.drops = append(p.drops, q.drops...)
}
