package engine

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

func TestVMsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		for n := range 20 {
			w.apply(newVM(n))
		}
		stop := w.run(nil)
		pass(20 * time.Second)
		for n := range 20 {
			if s := w.status(n); s.PrintableStatus != v1.PrintableRunning {
				t.Errorf("vm%d is %q: %+v", n, s.PrintableStatus, s)
			}
		}
		stop()
		// The next leader adopts what runs.
		before := w.status(3).Instance.ID
		w.run(nil)
		pass(time.Minute)
		if s := w.status(3); s.PrintableStatus != v1.PrintableRunning || s.Instance.ID != before {
			t.Errorf("after a change of leaders vm3 is %+v", s)
		}
	})
}

// A leader that dies while it launches leaves calls on their way. The next one adopts what they made, and starts nothing twice.
func TestDeadLeadersWorkIsAdopted(t *testing.T) {
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.fleet = sim.New(sim.Options{
					Latency: sim.Range{Min: 100 * time.Millisecond, Max: 300 * time.Millisecond},
				})
				for _, name := range []string{"a", "b"} {
					w.putHost(name, w.fleet.AddHost(sim.HostConfig{Name: name}).URI())
				}
				handle, process := w.store.View(memory.Faults{}), w.fleet.Process("first")
				stop := w.run(func(o *Options) { o.Store, o.Driver = handle, process })
				pass(2 * time.Second)
				for n := range 4 {
					w.apply(newVM(n))
				}
				pass(after)
				handle.Kill()
				process.Kill()
				stop()
				w.run(nil)
				pass(2 * time.Minute)
				running := 0
				for _, h := range w.fleet.Hosts() {
					for _, d := range h.Domains() {
						if d.State == hypervisor.DomainRunning {
							running++
						}
					}
				}
				for n := range 4 {
					if s := w.status(n); s.PrintableStatus != v1.PrintableRunning {
						t.Errorf("vm%d is %+v", n, s)
					}
				}
				if running != 4 {
					t.Errorf("%d domains run, want 4", running)
				}
			})
		})
	}
}
