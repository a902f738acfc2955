package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// world is a store, a fleet of simulated hosts, and an engine between them, in virtual time.
type world struct {
	t     *testing.T
	store *memory.Store
	fleet *sim.Fleet
	// fake is the core of the newest term when the test scripts its decisions; nil: the real core.
	fake *fakeCore
}

const clusterUID = "c0ffee00-0000-4000-8000-000000000000"

func newWorld(t *testing.T, hosts ...string) *world {
	w := &world{t: t, store: memory.New(), fleet: sim.New(sim.Options{})}
	w.put(layout.ConfigSpecKey(), layout.Encode(&v1.ClusterConfig{Metadata: v1.ObjectMeta{Name: "cluster", UID: clusterUID}}))
	for _, name := range hosts {
		h := w.fleet.AddHost(sim.HostConfig{Name: name})
		w.putHost(name, h.URI())
	}
	t.Cleanup(func() { w.store.Close() })
	return w
}

// run starts an engine and returns what stops it and waits for its end.
func (w *world) run(change func(*Options)) (stop func()) {
	o := Options{Store: w.store, Driver: w.fleet, Name: "test", Log: slog.New(slog.NewTextHandler(w.t.Output(), nil))}
	if change != nil {
		change(&o)
	}
	e := New(o)
	if w.fake != nil {
		scripted := w.fake
		e.newCore = func() decider { scripted.terms++; return scripted }
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	w.t.Cleanup(stop)
	return stop
}

func (w *world) put(key string, value []byte) {
	w.t.Helper()
	if _, err := w.store.Txn(w.t.Context(), store.Txn{Put: []store.KV{{Key: key, Value: value}}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(key string) []byte {
	w.t.Helper()
	kv, err := w.store.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	return kv.Value
}

func (w *world) keys(prefix string) []string {
	w.t.Helper()
	kvs, _, err := w.store.List(w.t.Context(), prefix)
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, kv := range kvs {
		keys = append(keys, kv.Key)
	}
	return keys
}

func (w *world) putHost(name, uri string) {
	w.t.Helper()
	w.put(layout.HostSpecKey(name), layout.EncodeHostSpec(&v1.Host{
		Metadata: v1.ObjectMeta{Name: name, UID: "host-" + name, Generation: 1}, Spec: v1.HostSpec{URI: uri},
	}))
}

func vmUID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func vmKey(n int) core.VMKey { return core.VMKey{Namespace: "default", Name: fmt.Sprintf("vm%d", n)} }

// newVM is VM number n, with a disk of its own.
func newVM(n int) *v1.VirtualMachine {
	return &v1.VirtualMachine{
		Metadata: v1.ObjectMeta{Namespace: "default", Name: vmKey(n).Name, UID: vmUID(n), Generation: 1, CreationTimestamp: time.Now()},
		Spec: v1.VirtualMachineSpec{RunStrategy: v1.RunAlways, Template: v1.Template{
			Memory: 64 << 20, Disks: []v1.Disk{{Name: "root", Path: fmt.Sprintf("/disks/%d", n)}},
		}},
	}
}

// apply stores a VM as the registry does: an edit keeps the older spec, and claims go in with the spec.
func (w *world) apply(vm *v1.VirtualMachine) {
	w.t.Helper()
	key := layout.VMSpecKey(vm.Metadata.Namespace, vm.Metadata.Name)
	txn := store.Txn{Put: []store.KV{{Key: key, Value: layout.EncodeVMSpec(vm)}}}
	if old := w.get(key); old != nil {
		txn.Put = append(txn.Put, store.KV{Key: layout.RevisionKey(vm.Metadata.UID, vm.Metadata.Generation-1), Value: old})
	}
	owner := layout.ClaimOwner{UID: vm.Metadata.UID, Namespace: vm.Metadata.Namespace, Name: vm.Metadata.Name}
	for _, c := range layout.Claims(vm) {
		if w.get(c.Key) == nil {
			txn.Put = append(txn.Put, store.KV{Key: c.Key, Value: layout.Encode(owner)})
		}
	}
	if _, err := w.store.Txn(w.t.Context(), txn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) status(n int) v1.VirtualMachineStatus {
	w.t.Helper()
	var s layout.StatusOf[v1.VirtualMachineStatus]
	if b := w.get(layout.VMStatusKey("default", vmKey(n).Name)); b != nil {
		if err := json.Unmarshal(b, &s); err != nil {
			w.t.Fatal(err)
		}
	}
	return s.Status
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// fakeCore is a core that does what the test scripts.
type fakeCore struct {
	mu    sync.Mutex
	terms int
	seen  []core.Event
	times []time.Time
	// on is called with each event and may say what is wanted.
	on    func(ev core.Event) core.Ready
	ready core.Ready
	wake  time.Time
	// epochs of the hosts' newest connections: commands go to these.
	epochs map[string]int64
}

func (f *fakeCore) Step(now time.Time, ev core.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.times = append(f.seen, ev), append(f.times, now)
	if c, ok := ev.(core.HostConnected); ok {
		if f.epochs == nil {
			f.epochs = map[string]int64{}
		}
		f.epochs[c.Host] = c.Epoch
	}
	if f.on != nil {
		r := f.on(ev)
		for _, u := range r.Units {
			for i := range u.Commands {
				u.Commands[i].Epoch = f.epochs[u.Commands[i].Host]
			}
		}
		f.ready.Units = append(f.ready.Units, r.Units...)
		f.ready.Notices = append(f.ready.Notices, r.Notices...)
	}
}

func (f *fakeCore) Ready() core.Ready {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.ready
	f.ready = core.Ready{}
	return r
}

func (f *fakeCore) NextDeadline() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wake, !f.wake.IsZero()
}

// events are those of one type that the core has been told.
func events[E core.Event](f *fakeCore) []E {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []E
	for _, ev := range f.seen {
		if e, ok := ev.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

var _ hypervisor.Driver = (*sim.Fleet)(nil)
