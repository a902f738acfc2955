package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func putAction(w *world, name string, status *v1.ActionStatus) {
	a := &v1.Action{Metadata: v1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-" + name}, Spec: v1.ActionSpec{Type: v1.ActionStop, VM: "vm0", VMUID: vmUID(0)}}
	w.put(layout.ActionSpecKey("default", name), layout.EncodeActionSpec(a))
	if status != nil {
		w.put(layout.ActionStatusKey("default", name), layout.Encode(layout.StatusOf[v1.ActionStatus]{UID: a.Metadata.UID, Status: *status}))
	}
}

func TestLoadTellsEverythingInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		putAction(w, "applied", &v1.ActionStatus{Phase: v1.ActionApplied})
		putAction(w, "new", nil)
		w.edited(0, 3)
		w.apply(newVM(1))
		w.put(layout.VMStatusKey("default", "vm0"), layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: vmUID(0), Status: v1.VirtualMachineStatus{PrintableStatus: "mine"}}))
		w.put(layout.VMStatusKey("default", "vm1"), layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: "predecessor", Status: v1.VirtualMachineStatus{PrintableStatus: "not mine"}}))
		w.put(layout.VMSpecKey("default", "vm2"), []byte("no json"))
		w.put(layout.RevisionKey(vmUID(2), 1), []byte("perhaps of vm2"))
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		var got []string
		for _, ev := range w.fake.seen[:9] {
			switch ev := ev.(type) {
			case core.ConfigChanged:
				got = append(got, "config "+ev.Config.Metadata.UID)
			case core.HostChanged:
				got = append(got, "host "+ev.Host.Metadata.Name)
			case core.VMChanged:
				got = append(got, fmt.Sprintf("vm %s %d %q", ev.VM.Metadata.Name, ev.VM.Metadata.Generation, ev.VM.Status.PrintableStatus))
			case core.VMOldRevisions:
				got = append(got, fmt.Sprintf("old %s %d", ev.Key.Name, ev.Oldest))
			case core.ActionPosted:
				got = append(got, "action "+ev.Action.Metadata.Name+" "+ev.Action.Status.Phase)
			case core.Loaded:
				got = append(got, "loaded "+ev.Grace.String())
			}
		}
		want := []string{"config " + clusterUID, "host a", "host b", `vm vm0 3 "mine"`, "old vm0 1", `vm vm1 1 ""`, "action applied Applied", "action new ", "loaded 40s"}
		if !slices.Equal(got, want) {
			t.Errorf("told\n%q, want\n%q", got, want)
		}
		if w.get(layout.RevisionKey(vmUID(2), 1)) == nil {
			t.Errorf("a spec was removed that may belong to the VM that cannot be read")
		}
	})
}

func TestActionsAreWrittenAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		putAction(w, "old", &v1.ActionStatus{Phase: v1.ActionApplied})
		w.fake = &fakeCore{on: func(ev core.Event) (r core.Ready) {
			if a, ok := ev.(core.ActionPosted); ok {
				m := a.Action.Metadata
				if a.Action.Status.Phase == v1.ActionApplied {
					r.Units = []core.Unit{{Writes: []core.Write{core.DeleteAction{Namespace: m.Namespace, Name: m.Name}}}}
				} else {
					r.Units = []core.Unit{{Writes: []core.Write{core.WriteAction{Namespace: m.Namespace, Name: m.Name, UID: m.UID, Status: v1.ActionStatus{Phase: v1.ActionRefused}}}}}
				}
			}
			return r
		}}
		w.run(nil)
		pass(time.Second)
		putAction(w, "new", nil)
		pass(time.Second)
		if got, want := w.keys(layout.Spec+layout.Action), []string{layout.ActionSpecKey("default", "new")}; !slices.Equal(got, want) {
			t.Errorf("actions left: %v, want %v", got, want)
		}
		kv := store.KV{Key: layout.ActionSpecKey("default", "new"), Value: w.get(layout.ActionSpecKey("default", "new"))}
		a, err := layout.DecodeAction(kv, &store.KV{Value: w.get(layout.ActionStatusKey("default", "new"))})
		if err != nil || a.Status.Phase != v1.ActionRefused {
			t.Errorf("status %+v, error %v", a.Status, err)
		}
	})
}

func TestDeadlinesTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		due := time.Now().Add(time.Minute)
		w.fake = &fakeCore{wake: due}
		w.fake.on = func(ev core.Event) core.Ready {
			if _, ok := ev.(core.Tick); ok {
				w.fake.wake = time.Time{}
			}
			return core.Ready{}
		}
		w.run(nil)
		pass(time.Hour)
		first, last := toldAt(w.fake, func(ev core.Event) bool { _, ok := ev.(core.Tick); return ok })
		if !first.Equal(due) || !last.Equal(due) {
			t.Errorf("ticks from %v to %v, want one at %v", first, last, due)
		}
	})
}

func TestNoConfigurationNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		if _, err := w.store.Txn(t.Context(), store.Txn{Delete: []string{layout.ConfigSpecKey()}}); err != nil {
			t.Fatal(err)
		}
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Minute)
		if len(w.fake.seen) > 0 || w.fake.terms < 5 || w.fake.terms > 15 {
			t.Errorf("%d terms in a minute told the core %v", w.fake.terms, w.fake.seen)
		}
		w.put(layout.ConfigSpecKey(), layout.Encode(&v1.ClusterConfig{Metadata: v1.ObjectMeta{Name: "cluster", UID: clusterUID}}))
		pass(15 * time.Second)
		if len(events[core.HostConnected](w.fake)) != 1 {
			t.Errorf("no term once there is a configuration")
		}
	})
}
