package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/engine"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/storetest"
)

// BenchmarkStarts measures how many VMs a second go from their spec in the store to status Running, with guests that boot at
// once, on an embedded etcd, and compares it with what that etcd takes in the same run. Use -benchtime=10000x: one VM each.
func BenchmarkStarts(b *testing.B) {
	st, err := etcd.StartEmbedded(b.Context(), etcd.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	raw, rawCPU := 0.0, 0.0
	for _, writers := range []int{1, 4} {
		before := cpu()
		r, err := storetest.RawPutRate(b.Context(), st, storetest.Load{Objects: 32 * 1024, Size: 1024, Batch: 64, Writers: writers})
		if err != nil {
			b.Fatal(err)
		}
		raw, rawCPU = max(raw, r), float64(cpu()-before)/32/1024
	}
	hosts := 100
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
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		_ = engine.New(engine.Options{Store: st, Driver: fleet, Name: "bench", Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	})
	await(b, ctx, st, layout.Status+layout.Host+"/", 1, hosts, func(v []byte) bool {
		var s layout.StatusOf[v1.HostStatus]
		return json.Unmarshal(v, &s) == nil && s.Status.State == v1.HostUp
	})

	_, now, err := st.List(ctx, layout.ConfigSpecKey())
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	begin, beginCPU := time.Now(), cpu()
	wg.Go(func() {
		for from := 0; from < b.N; from += 64 {
			var txn store.Txn
			for i := from; i < min(from+64, b.N); i++ {
				vm := &v1.VirtualMachine{
					Metadata: v1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("vm%d", i), UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i),
						Generation: 1, CreationTimestamp: begin},
					Spec: v1.VirtualMachineSpec{RunStrategy: v1.RunAlways, Template: v1.Template{
						Memory: 1 << 28, Machine: v1.Machine{Type: "q35"}, Disks: []v1.Disk{{Name: "root", Pool: "shared", Volume: fmt.Sprintf("vm%d.qcow2", i)}},
						NICs: []v1.NIC{{Name: "net", Network: "default"}},
					}},
				}
				txn.Put = append(txn.Put, store.KV{Key: layout.VMSpecKey("default", vm.Metadata.Name), Value: layout.EncodeVMSpec(vm)})
			}
			if _, err := st.Txn(ctx, txn); err != nil {
				b.Error(err)
				return
			}
		}
	})
	writes := await(b, ctx, st, layout.Status+layout.VM+"/", now+1, b.N, isRunning)
	rate := float64(b.N) / time.Since(begin).Seconds()
	b.StopTimer()
	b.ReportMetric(rate, "starts/s")
	b.ReportMetric(raw, "raw-puts/s")
	b.ReportMetric(100*rate/raw, "%of-raw")
	b.ReportMetric(float64((cpu()-beginCPU).Microseconds())/float64(b.N), "cpu-µs/start")
	b.ReportMetric(rawCPU/1e3, "cpu-µs/raw-put")
	b.ReportMetric(float64(writes)/float64(b.N), "writes/start")
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
