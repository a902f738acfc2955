package engine

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

func vmRef(n int) v1.ObjectRef {
	return v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "default", Name: vmKey(n).Name, UID: vmUID(n)}
}

func (w *world) event(o v1.ObjectRef, reason string) *v1.Event {
	w.t.Helper()
	b := w.get(layout.EventKey(o, reason))
	if b == nil {
		return nil
	}
	e := &v1.Event{}
	if err := json.Unmarshal(b, e); err != nil {
		w.t.Fatal(err)
	}
	return e
}

// say has the fake core make news, by way of a change of an object.
func (w *world) say(notices ...core.Notice) {
	w.fake.mu.Lock()
	w.fake.on = func(ev core.Event) (r core.Ready) {
		if _, ok := ev.(core.ConfigChanged); ok {
			r.Notices, notices = notices, nil
		}
		return r
	}
	w.fake.mu.Unlock()
	w.put(layout.ConfigSpecKey(), w.get(layout.ConfigSpecKey()))
}

func TestNewsAreOneEventWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		writes := 0
		watched := w.store.View(memory.Faults{Txn: func(store.Txn) memory.Fault { writes++; return memory.Fault{} }})
		w.fake = &fakeCore{}
		stop := w.run(func(o *Options) { o.Store = watched })
		pass(time.Second)
		first := time.Now().UTC()
		for i := range 10 {
			w.say(core.Notice{Object: vmRef(0), Reason: "StartFailed", Message: fmt.Sprint("try ", i), Warning: true})
			pass(300 * time.Millisecond)
		}
		pass(2 * time.Second)
		e := w.event(vmRef(0), "StartFailed")
		if e == nil || e.Count != 10 || e.Message != "try 9" || e.Type != v1.EventWarning || !e.FirstAt.Equal(first) || !e.LastAt.Equal(first.Add(2700*time.Millisecond)) {
			t.Errorf("event %+v", e)
		}
		if writes > 4 {
			t.Errorf("%d writes for news of 3 seconds", writes)
		}
		stop()
		w.run(nil)
		pass(time.Second)
		w.say(core.Notice{Object: vmRef(0), Reason: "StartFailed", Message: "in the next term"})
		pass(2 * time.Second)
		if e := w.event(vmRef(0), "StartFailed"); e == nil || e.Count != 11 || !e.FirstAt.Equal(first) {
			t.Errorf("the next term does not count on: %+v", e)
		}
		// A successor of the same name has a history of its own.
		successor := vmRef(0)
		successor.UID = vmUID(99)
		w.say(core.Notice{Object: successor, Reason: "StartFailed", Message: "new"})
		pass(2 * time.Second)
		if e := w.event(vmRef(0), "StartFailed"); e == nil || e.Count != 1 || e.Object.UID != vmUID(99) {
			t.Errorf("a successor got %+v", e)
		}
		pass(59 * time.Minute)
		if w.event(vmRef(0), "StartFailed") == nil {
			t.Errorf("the event is gone before its time")
		}
		pass(2 * time.Minute)
		if e := w.event(vmRef(0), "StartFailed"); e != nil {
			t.Errorf("the event is still there: %+v", e)
		}
	})
}

func TestNewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fake = &fakeCore{}
		stop := w.run(func(o *Options) { o.EventLimit = 100 })
		pass(time.Second)
		for _, hundred := range []int{9, 8, 7, 6} { // the order of their keys is not that of their age
			var notices []core.Notice
			for n := range 60 {
				notices = append(notices, core.Notice{Object: vmRef(100*hundred + n), Reason: "Started"})
			}
			w.say(notices...)
			pass(2 * time.Second)
		}
		if got := len(w.keys(layout.Event)); got != 100 {
			t.Errorf("%d events, want 100", got)
		}
		if w.event(vmRef(659), "Started") == nil || w.event(vmRef(959), "Started") != nil || w.event(vmRef(759), "Started") == nil {
			t.Errorf("not the newest events are kept")
		}
		stop()
		w.run(func(o *Options) { o.EventLimit = 100 })
		pass(time.Second)
		w.say(core.Notice{Object: vmRef(1), Reason: "Started"})
		pass(2 * time.Second)
		if w.event(vmRef(1), "Started") == nil || w.event(vmRef(600), "Started") == nil || len(w.keys(layout.Event)) != 100 {
			t.Errorf("after a change of leaders not the newest events are kept")
		}
		var burst []core.Notice
		for n := range 250 {
			burst = append(burst, core.Notice{Object: vmRef(1000 + n), Reason: "Started"})
		}
		w.say(burst...)
		pass(5 * time.Second)
		if w.event(vmRef(1000), "Started") != nil || w.event(vmRef(1249), "Started") == nil || len(w.keys(layout.Event)) != 100 {
			t.Errorf("a burst leaves %d events, want the newest 100", len(w.keys(layout.Event)))
		}
	})
}

// News that come with a removal stay; those before go with the VM.
func TestNewsOfARemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.apply(newVM(0))
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		w.say(core.Notice{Object: vmRef(0), Reason: "Started"})
		pass(2 * time.Second)
		w.fake.mu.Lock()
		w.fake.on = func(ev core.Event) (r core.Ready) {
			if _, ok := ev.(core.ConfigChanged); ok {
				r.Units = []core.Unit{{Writes: []core.Write{core.DeleteVM{Key: vmKey(0), UID: vmUID(0)}}}}
				r.Notices = []core.Notice{{Object: vmRef(0), Reason: "Deleted"}}
			}
			return r
		}
		w.fake.mu.Unlock()
		w.put(layout.ConfigSpecKey(), w.get(layout.ConfigSpecKey()))
		pass(2 * time.Second)
		if w.event(vmRef(0), "Started") != nil || w.event(vmRef(0), "Deleted") == nil {
			t.Errorf("events left: %v, want only the removal's own", w.keys(layout.Event))
		}
	})
}
