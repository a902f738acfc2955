package stories

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

// TestLateCreate: libvirtd freezes with a create in its hands, the call times out, the leader changes, libvirtd thaws and carries
// the create out. The VM never runs twice, although another host has room, and whatever its owner wants meanwhile.
func TestLateCreate(t *testing.T) {
	tests := []struct {
		name  string
		after func(t *testing.T, w *World) // what its owner does while the host is frozen
		thaw  time.Duration                // after the change of the leader
		want  int                          // how often it runs at the end
	}{
		{"thaw at once", nil, 0, 1},
		{"thaw after the old lease is over", nil, 30 * time.Second, 1},
		{"thaw after the start time-out", nil, 10 * time.Minute, 1},
		{"stopped meanwhile", func(t *testing.T, w *World) { w.ask(t, v1.ActionStop) }, 2 * time.Minute, 0},
		{"restarted meanwhile", func(t *testing.T, w *World) { w.ask(t, v1.ActionRestart) }, 2 * time.Minute, 1},
		{"stopped and started meanwhile", func(t *testing.T, w *World) {
			w.ask(t, v1.ActionStop)
			time.Sleep(time.Second)
			w.ask(t, v1.ActionStart)
		}, 2 * time.Minute, 1},
		{"deleted meanwhile", func(t *testing.T, w *World) {
			if _, err := w.Registry.DeleteVM(t.Context(), "", "a", registry.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 2 * time.Minute, 0},
	}
	for _, backlog := range []time.Duration{0, 20 * time.Second} {
		for _, tt := range tests {
			t.Run(tt.name+", backlog "+backlog.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { lateCreate(t, backlog, tt.after, tt.thaw, tt.want) })
			})
		}
	}
}

func lateCreate(t *testing.T, backlog time.Duration, after func(*testing.T, *World), thaw time.Duration, want int) {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	obedient := func(hypervisor.Machine) sim.Guest { return sim.Guest{Boot: time.Second, Shutdown: time.Second} }
	w, err := NewWorld(Setting{Seed: 1, Hosts: 2, Memory: 8 << 30, Fleet: sim.Options{Backlog: sim.Range{Max: backlog}, Guest: obedient}})
	ok(err)
	w.Boot()
	w.Wait(time.Second)
	for _, h := range w.Fleet.Hosts() {
		h.FreezeAtCreate()
	}
	vm := &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: "a"}}
	vm.Spec.Template.Memory = 1 << 30
	created, err := w.Registry.CreateVM(t.Context(), vm)
	ok(err)
	w.Wait(time.Minute) // longer than the deadline of the call
	if n := w.running(created.Metadata.UID); n != 0 {
		t.Fatalf("it runs %d times on frozen hosts", n)
	}
	if after != nil {
		after(t, w)
	}
	w.Leader().Kill("after the call timed out")
	w.Boot()
	// The other host, to which nobody has sent anything, must be a temptation.
	for _, h := range w.Fleet.Hosts() {
		if len(h.Domains()) == 0 {
			h.Heal()
		}
	}
	w.Wait(thaw)
	w.Heal()
	w.Wait(calm)
	if n := w.running(created.Metadata.UID); n != want {
		t.Errorf("at the end it runs %d times, want %d", n, want)
	}
	log := w.Close(true)
	sent := slices.ContainsFunc(log, func(e invariant.Entry) bool {
		c, ok := e.Fact.(invariant.Call)
		return ok && c.Op == "create" && c.Process == "p1"
	})
	if !sent {
		t.Error("the first leader sent no create: the story did not happen")
	}
	for _, v := range invariant.Run(log, invariant.All()...) {
		t.Error(v)
	}
}

func (w *World) ask(t *testing.T, what v1.ActionType) {
	t.Helper()
	if _, err := w.Registry.PostAction(t.Context(), "", "a", registry.ActionRequest{Type: what}); err != nil {
		t.Fatal(err)
	}
}
