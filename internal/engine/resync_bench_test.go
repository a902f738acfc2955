package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/engine"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// BenchmarkResync measures what it costs to list 100 hosts with 10,000 running VMs, and to find nothing new; another 10,000 VMs
// are off. One operation is one round of all hosts, which is one minute's in production. The simulated hosts' own work counts.
func BenchmarkResync(b *testing.B) {
	const hosts, running, halted = 100, 10000, 10000
	st := memory.New()
	defer st.Close()
	fleet := sim.New(sim.Options{})
	put(b, st, layout.ConfigSpecKey(), layout.Encode(&v1.ClusterConfig{
		Metadata: v1.ObjectMeta{Name: v1.ClusterConfigName, UID: "c0ffee00-0000-4000-8000-000000000000"},
		Spec:     v1.ClusterConfigSpec{StartLimit: v1.StartLimit{Cluster: 1 << 20, PerHost: 1 << 20}},
	}))
	for i := range hosts {
		h := fleet.AddHost(sim.HostConfig{Name: fmt.Sprintf("h%03d", i), Memory: 1 << 42, CPUs: 1 << 12})
		put(b, st, layout.HostSpecKey(h.Name()), layout.EncodeHostSpec(&v1.Host{
			Metadata: v1.ObjectMeta{Name: h.Name(), UID: "uid-" + h.Name(), Generation: 1}, Spec: v1.HostSpec{URI: h.URI()},
		}))
	}
	for i := range running + halted {
		vm := &v1.VirtualMachine{
			Metadata: v1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("vm%d", i), UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
				Generation: 1, CreationTimestamp: time.Now()},
			Spec: v1.VirtualMachineSpec{RunStrategy: v1.RunAlways, Template: v1.Template{Memory: 1 << 28}},
		}
		if i >= running {
			vm.Spec.RunStrategy = v1.RunHalted
		}
		put(b, st, layout.VMSpecKey("default", vm.Metadata.Name), layout.EncodeVMSpec(vm))
	}
	driver := &listings{Fleet: fleet, done: make(chan struct{}, 1<<20)}
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		_ = engine.New(engine.Options{
			Store: st, Driver: driver, Name: "bench", Log: slog.New(slog.DiscardHandler), ResyncInterval: 2 * time.Second,
		}).Run(ctx)
	})
	await(b, ctx, st, layout.Status+layout.VM+"/", 1, running, isRunning)
	driver.on.Store(true)
	b.ResetTimer()
	before := cpu()
	for range b.N * hosts {
		<-driver.done
	}
	b.StopTimer()
	used := (cpu() - before).Seconds() / float64(b.N)
	b.ReportMetric(1e3*used, "cpu-ms/round")
	b.ReportMetric(100*used/60, "%of-a-core")
}

// listings is a fleet that tells when a host has been listed.
type listings struct {
	*sim.Fleet
	on   atomic.Bool
	done chan struct{}
}

func (l *listings) Connect(ctx context.Context, uri string) (hypervisor.Conn, error) {
	c, err := l.Fleet.Connect(ctx, uri)
	return listingConn{c, l}, err
}

type listingConn struct {
	hypervisor.Conn
	l *listings
}

func (c listingConn) List(ctx context.Context) ([]hypervisor.Domain, error) {
	if c.l.on.Load() {
		c.l.done <- struct{}{}
	}
	return c.Conn.List(ctx)
}

func isRunning(v []byte) bool {
	var s layout.StatusOf[v1.VirtualMachineStatus]
	return json.Unmarshal(v, &s) == nil && s.Status.PrintableStatus == v1.PrintableRunning
}

// cpu is the processor time that this process has taken: steadier than the clock on a machine that does other things too.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func put(b testing.TB, st store.Store, key string, value []byte) {
	b.Helper()
	if _, err := st.Txn(b.Context(), store.Txn{Put: []store.KV{{Key: key, Value: value}}}); err != nil {
		b.Fatal(err)
	}
}

// await waits until n keys with the prefix have been given a good value since revision from, and returns how many values were written on the way.
func await(b *testing.B, ctx context.Context, st store.Store, prefix string, from int64, n int, good func([]byte) bool) (writes int) {
	b.Helper()
	done := map[string]bool{}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for batch := range st.Watch(ctx, prefix, from) {
		if batch.Err != nil {
			b.Fatal(batch.Err)
		}
		for _, c := range batch.Changes {
			writes++
			if good(c.Value) {
				done[c.Key] = true
			}
		}
		if len(done) >= n {
			return writes
		}
	}
	b.Fatalf("%d of %d under %s after %v", len(done), n, prefix, 5*time.Minute)
	return 0
}
