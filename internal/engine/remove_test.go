package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// edited stores VM n in generations 1 to g; each has its own disk, and all share one.
func (w *world) edited(n int, g int64) {
	for i := range g {
		vm := newVM(n)
		vm.Metadata.Generation = i + 1
		vm.Spec.Template.Disks = []v1.Disk{{Name: "root", Path: disk(n, 0)}, {Name: "data", Path: disk(n, i+1)}}
		w.apply(vm)
	}
}

func disk(n int, i int64) string { return "/disks/" + vmKey(n).Name + "-" + string(rune('0'+i)) }

func diskClaim(path string) string {
	return layout.Claims(&v1.VirtualMachine{Spec: v1.VirtualMachineSpec{Template: v1.Template{Disks: []v1.Disk{{Path: path}}}}})[0].Key
}

// decideOn scripts a core that decides once, when it has been told an event of the type that holds for it.
func decideOn(when func(core.Event) bool, writes ...core.Write) *fakeCore {
	decided := false
	return &fakeCore{on: func(ev core.Event) (r core.Ready) {
		if when(ev) && !decided {
			decided = true
			r.Units = []core.Unit{{Writes: writes}}
		}
		return r
	}}
}

func whenLoaded(ev core.Event) bool { _, ok := ev.(core.Loaded); return ok }

func TestRemovedVMLeavesNothing(t *testing.T) {
	for name, generations := range map[string]int64{"few specs": 3, "more specs than one transaction removes": 40} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.apply(newVM(1))
				stay := slices.Concat(w.keys(layout.Spec), w.keys(layout.Index))
				w.edited(0, generations)
				w.put(layout.VMStatusKey("default", "vm0"), layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: vmUID(0)}))
				// Another VM's disk that this VM's spec names too: it is not this VM's to give up.
				w.put(diskClaim(disk(0, 2)), layout.Encode(layout.ClaimOwner{UID: vmUID(1)}))
				stay = append(stay, diskClaim(disk(0, 2)))
				w.put(layout.EventKey(v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "default", Name: "vm0"}, "Old"), layout.Encode(&v1.Event{
					Object: v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "default", Name: "vm0"}, Reason: "Old", LastAt: time.Now(),
				}))
				w.fake = decideOn(whenLoaded, core.DeleteVM{Key: vmKey(0), UID: vmUID(0)})
				w.run(nil)
				pass(time.Second)
				var left []string
				for _, prefix := range []string{layout.Spec, layout.Status, layout.Revision, layout.Index, layout.Event} {
					left = append(left, w.keys(prefix)...)
				}
				slices.Sort(left)
				slices.Sort(stay)
				if !slices.Equal(left, stay) {
					t.Errorf("left:\n%q\nwant:\n%q", left, stay)
				}
				if w.fake.terms != 1 {
					t.Errorf("%d terms", w.fake.terms)
				}
			})
		})
	}
}

func TestReleasedSpecsGiveUpTheirClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.edited(0, 5)
		w.fake = decideOn(whenLoaded, core.ReleaseRevisions{Key: vmKey(0), UID: vmUID(0), Before: 3})
		w.run(nil)
		pass(time.Second)
		if old := events[core.VMOldRevisions](w.fake); len(old) != 1 || old[0].Oldest != 1 {
			t.Errorf("the core was told of older specs %+v, want from generation 1 on", old)
		}
		if got, want := w.keys(layout.Revision), []string{layout.RevisionKey(vmUID(0), 3), layout.RevisionKey(vmUID(0), 4)}; !slices.Equal(got, want) {
			t.Errorf("kept %v, want %v", got, want)
		}
		for i, want := range []bool{true, false, false, true, true, true} {
			if got := w.get(diskClaim(disk(0, int64(i)))) != nil; got != want {
				t.Errorf("disk %d claimed: %v, want %v", i, got, want)
			}
		}
	})
}

func TestEditIsToldWithTheSpecItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.edited(0, 1)
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		if old := events[core.VMOldRevisions](w.fake); len(old) != 0 {
			t.Errorf("told of older specs %+v, but there are none", old)
		}
		vm := newVM(0)
		vm.Metadata.Labels = map[string]string{"no": "new generation"}
		w.put(layout.VMSpecKey("default", "vm0"), layout.EncodeVMSpec(vm))
		pass(time.Second)
		if old := events[core.VMOldRevisions](w.fake); len(old) != 0 {
			t.Errorf("told of older specs %+v after a change of labels", old)
		}
		vm.Metadata.Generation = 2
		w.apply(vm)
		pass(time.Second)
		if old := events[core.VMOldRevisions](w.fake); len(old) != 1 || old[0] != (core.VMOldRevisions{Key: vmKey(0), Oldest: 1}) {
			t.Errorf("told of older specs %+v, want generation 1", old)
		}
	})
}

// An edit that the engine has not seen yet, and that may claim what is being given up, stops the removal; the next term knows it.
func TestUnseenEditStopsARemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.edited(0, 2)
		w.fake = decideOn(whenLoaded, core.ReleaseRevisions{Key: vmKey(0), UID: vmUID(0), Before: 2})
		late := &lateWatch{Store: w.store, edit: func() {
			vm := newVM(0)
			vm.Metadata.Generation = 3
			vm.Spec.Template.Disks = []v1.Disk{{Name: "data", Path: disk(0, 1)}}
			w.apply(vm)
		}}
		w.run(func(o *Options) { o.Store = late })
		pass(5 * time.Second)
		if w.get(diskClaim(disk(0, 1))) == nil {
			t.Errorf("the disk that generation 3 uses again is not claimed any more")
		}
		if w.fake.terms != 2 {
			t.Errorf("%d terms, want 2", w.fake.terms)
		}
		if changed := events[core.VMChanged](w.fake); changed[len(changed)-1].VM.Metadata.Generation != 3 {
			t.Errorf("the second term does not know the edit")
		}
	})
}

// lateWatch edits just before the first watch begins, and that watch never tells.
type lateWatch struct {
	store.Store
	edit func()
}

func (l *lateWatch) Watch(ctx context.Context, prefix string, from int64) <-chan store.Batch {
	if l.edit == nil {
		return l.Store.Watch(ctx, prefix, from)
	}
	l.edit()
	l.edit = nil
	return make(chan store.Batch)
}

func TestRemovalByOthersEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.apply(newVM(0))
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		if _, err := w.store.Txn(t.Context(), store.Txn{Delete: []string{layout.VMSpecKey("default", "vm0")}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if w.fake.terms != 2 {
			t.Errorf("%d terms, want a new one that does not know the VM", w.fake.terms)
		}
	})
}
