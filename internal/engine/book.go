package engine

import (
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// book is what the term knows about the keys in the store: enough to write a status under the right uid, to build an instance
// from the right spec, and to remove a VM with all that belongs to it. The loop owns it.
type book struct {
	clusterUID string
	vms        map[core.VMKey]*vmEntry
	// hosts by name, actions by namespace and name.
	hosts   map[string]hostEntry
	actions map[core.VMKey]string
}

// vmEntry is one VM.
type vmEntry struct {
	uid        string
	generation int64
	// vm is the decoded spec, defaults filled in, last changed at revision. The core and orders have it too: nobody changes it.
	vm       *v1.VirtualMachine
	revision int64
	// kept are the older generations whose specs the store keeps, ascending.
	kept []int64
}

type hostEntry struct{ uid, uri string }

func newBook() *book {
	return &book{vms: map[core.VMKey]*vmEntry{}, hosts: map[string]hostEntry{}, actions: map[core.VMKey]string{}}
}

// putVM takes note of a VM's spec and returns its entry. It reports whether that left the spec of an older generation behind.
func (b *book) putVM(kv store.KV, vm *v1.VirtualMachine) (e *vmEntry, edited bool) {
	key := core.VMKey{Namespace: vm.Metadata.Namespace, Name: vm.Metadata.Name}
	e = b.vms[key]
	if e == nil || e.uid != vm.Metadata.UID {
		e = &vmEntry{uid: vm.Metadata.UID, generation: vm.Metadata.Generation}
		b.vms[key] = e
	}
	if e.generation != vm.Metadata.Generation {
		e.kept = append(e.kept, e.generation)
		edited = true
	}
	e.generation, e.vm, e.revision = vm.Metadata.Generation, vm, kv.ModRevision
	return e, edited
}

// release forgets the kept generations before the given one and returns them.
func (e *vmEntry) release(before int64) []int64 {
	n, _ := slices.BinarySearch(e.kept, before)
	gone := e.kept[:n:n]
	e.kept = e.kept[n:]
	return gone
}

// splitSpecKey takes the key of a spec apart: kind, namespace (empty for hosts and the configuration) and name.
func splitSpecKey(key string) (kind string, id core.VMKey) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(key, layout.Spec), "/")
	if ns, name, two := strings.Cut(rest, "/"); two {
		return kind, core.VMKey{Namespace: ns, Name: name}
	}
	return kind, core.VMKey{Name: rest}
}
