package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/storetest"
)

// BenchmarkStarts lets thousands of VMs appear at once and waits until the store says Running for each. The yardstick is the rate at which
// the same store takes objects of a status's size in transactions of 64, one after another, as the engine writes them.
func BenchmarkStarts(b *testing.B) {
	const vms, hosts = 6000, 100
	for range b.N {
		ctx := context.Background()
		f := newFleet(b, hosts)
		raw := func() float64 {
			rate, err := storetest.RawPutRate(ctx, f.store, storetest.Load{Objects: vms, Size: 800, Batch: 64, Writers: 1})
			if err != nil {
				b.Fatal(err)
			}
			return rate
		}
		before := raw()
		stop := f.engine()
		_, revision, err := f.store.List(ctx, layout.Leader)
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		f.put(b, "vm", vms, v1.RunAlways)
		applied := time.Since(begin)
		writes := f.running(b, revision+1, vms)
		took := time.Since(begin)
		stop()
		after := raw()

		starts := vms / took.Seconds()
		put := (before + after) / 2
		b.ReportMetric(starts, "starts/s")
		b.ReportMetric(starts/put, "starts/put")
		b.ReportMetric(writes, "writes/start")
		fmt.Printf("\nStart throughput: %d VMs on %d simulated hosts that boot at once, embedded etcd, %s\n", vms, hosts, machine())
		fmt.Printf("  first spec to last status Running  %6.2fs   (of it writing the specs %.2fs)\n", took.Seconds(), applied.Seconds())
		fmt.Printf("  starts a second                    %6.0f\n", starts)
		fmt.Printf("  puts a second, transactions of 64  %6.0f   (%.0f before, %.0f after)\n", put, before, after)
		fmt.Printf("  ratio                              %6.2f   (aim: at least 0.25)\n", starts/put)
		fmt.Printf("  status writes a start              %6.2f   (aim: at most 3)\n", writes)
	}
}
