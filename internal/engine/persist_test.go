package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// launchOnConnect scripts a core that launches VM 0 on the first host that it sees.
func launchOnConnect() *fakeCore {
	launched := false
	return &fakeCore{on: func(ev core.Event) (r core.Ready) {
		if c, ok := ev.(core.HostConnected); ok && !launched {
			launched = true
			r.Units = []core.Unit{launchUnit(0, 1, c.Host)}
		}
		return r
	}}
}

func launchUnit(n int, generation int64, host string) core.Unit {
	return core.Unit{
		Writes: []core.Write{core.WriteVM{Key: vmKey(n), UID: vmUID(n), Status: &v1.VirtualMachineStatus{PrintableStatus: v1.PrintableStarting}}},
		Commands: []core.Command{{
			ID: uint64(n + 1), Kind: core.CommandLaunch, Host: host, UUID: vmUID(n), Instance: "i1", VM: vmKey(n), Generation: generation, MachineType: "pc-q35-7.2",
		}},
	}
}

// calls records what reaches hosts.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) record(call sim.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call.Op)
}

func (c *calls) get() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func TestCommandsWaitForTheirWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t), &calls{}
		w.fleet = sim.New(sim.Options{OnCall: c.record})
		w.putHost("a", w.fleet.AddHost(sim.HostConfig{Name: "a"}).URI())
		w.apply(newVM(0))
		w.fake = launchOnConnect()
		slow := w.store.View(memory.Faults{Latency: 2 * time.Second})
		w.run(func(o *Options) { o.Store = slow })
		pass(1900 * time.Millisecond)
		if got := c.get(); len(got) > 0 {
			t.Errorf("the host was called before the decision was durable: %v", got)
		}
		pass(time.Second)
		if got := c.get(); len(got) != 2 {
			t.Errorf("calls after the decision is durable: %v, want define and create", got)
		}
	})
}

func TestFailedWriteEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t), &calls{}
		w.fleet = sim.New(sim.Options{OnCall: c.record})
		w.putHost("a", w.fleet.AddHost(sim.HostConfig{Name: "a"}).URI())
		w.apply(newVM(0))
		w.fake = launchOnConnect()
		failing := w.store.View(memory.Faults{Txn: func(txn store.Txn) memory.Fault {
			for _, kv := range txn.Put {
				if strings.HasPrefix(kv.Key, layout.Status) {
					return memory.Fault{Drop: true, Err: errors.New("the disk is on fire")}
				}
			}
			return memory.Fault{}
		}})
		w.run(func(o *Options) { o.Store = failing })
		pass(5 * time.Second)
		if got := c.get(); len(got) > 0 {
			t.Errorf("the host was called though the decision is not durable: %v", got)
		}
		if w.fake.terms != 2 || len(events[core.Loaded](w.fake)) != 2 {
			t.Errorf("%d terms, want the second one to go on", w.fake.terms)
		}
	})
}

func TestTwoCommandsForOneDomainEndTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.apply(newVM(0))
		w.fake = launchOnConnect()
		launch := w.fake.on
		w.fake.on = func(ev core.Event) core.Ready {
			r := launch(ev)
			for i := range r.Units {
				again := r.Units[i].Commands[0]
				again.ID++
				r.Units[i].Commands = append(r.Units[i].Commands, again)
			}
			return r
		}
		w.run(nil)
		pass(time.Second)
		if w.fake.terms != 2 || len(events[core.Loaded](w.fake)) != 2 {
			t.Errorf("%d terms, want the second one to go on", w.fake.terms)
		}
	})
}

func TestEveryWriteIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		for n := range 3 {
			w.apply(newVM(n))
		}
		var mu sync.Mutex
		fenced, open := 0, 0
		watched := w.store.View(memory.Faults{Txn: func(txn store.Txn) memory.Fault {
			mu.Lock()
			defer mu.Unlock()
			if len(txn.If) > 0 && txn.If[0].Kind == store.CreatedAt && strings.HasPrefix(txn.If[0].Key, layout.Leader) {
				fenced++
			} else {
				open++
			}
			return memory.Fault{}
		}})
		w.run(func(o *Options) { o.Store = watched })
		pass(2 * time.Second)
		vm := newVM(1)
		vm.Metadata.Generation, vm.Metadata.DeletionTimestamp, vm.Metadata.DeletionForce = 2, new(time.Now()), true
		w.apply(vm)
		pass(time.Minute)
		if w.get(layout.VMSpecKey("default", "vm1")) != nil {
			t.Errorf("vm1 is still there: %+v", w.status(1))
		}
		mu.Lock()
		defer mu.Unlock()
		if open > 0 || fenced == 0 {
			t.Errorf("%d writes with the fence, %d without", fenced, open)
		}
	})
}

func TestCompactedWatchEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.fake = &fakeCore{}
		broken := &brokenWatch{Store: w.store, end: make(chan store.Batch, 1)}
		w.run(func(o *Options) { o.Store = broken })
		pass(time.Second)
		broken.end <- store.Batch{Err: store.ErrCompacted}
		pass(time.Second)
		if w.fake.terms != 2 {
			t.Errorf("%d terms, want 2", w.fake.terms)
		}
	})
}

// brokenWatch ends the watch when the test says so.
type brokenWatch struct {
	store.Store
	end chan store.Batch
}

func (b *brokenWatch) Watch(_ context.Context, _ string, _ int64) <-chan store.Batch { return b.end }
