package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store/storetest"
)

// BenchmarkStarts lets thousands of VMs appear at once and waits until the store says Running for each. A start is all of this: the
// spec is written, the engine sees it through its watch, decides where it goes, makes that durable, has the host define and create
// the domain and look at it, and makes durable that it runs. Not in it: encoding the specs, which is the registry's work.
//
// The yardstick is the rate at which the same store, before and after in the same process, takes objects of the size that these
// statuses turned out to have, in transactions of 64, one after another.
func BenchmarkStarts(b *testing.B) {
	const vms, hosts = 20000, 100
	for range b.N {
		ctx := context.Background()
		f := newFleet(b, hosts)
		raw := func(size int) (rate, cpu float64) {
			before := cpuUsed()
			rate, err := storetest.RawPutRate(ctx, f.store, storetest.Load{Objects: vms, Size: size, Batch: 64, Writers: 1})
			if err != nil {
				b.Fatal(err)
			}
			return rate, micros(cpuUsed()-before) / vms
		}
		raw(statusSize) // a store that is new to its work is slower
		before, cpuBefore := raw(statusSize)

		stop := f.engine()
		f.up(b, hosts)
		kvs := specs("vm", vms, v1.RunAlways)
		running := f.running(b, vms)
		begin, beginCPU := time.Now(), cpuUsed()
		f.put(b, kvs)
		applied := time.Since(begin)
		statuses := running()
		took, cpu := time.Since(begin), micros(cpuUsed()-beginCPU)/vms
		stop()
		after, cpuAfter := raw(statusSize)

		starts, put, cpuPut := vms/took.Seconds(), (before+after)/2, (cpuBefore+cpuAfter)/2
		writes, size := float64(statuses.values)/vms, float64(statuses.bytes)/float64(statuses.values)
		if size < statusSize*0.8 || size > statusSize*1.2 {
			b.Errorf("a status has %.0f bytes on average: set statusSize, so that what it is compared with is alike", size)
		}
		b.ReportMetric(starts, "starts/s")
		b.ReportMetric(starts/put, "starts/put")
		b.ReportMetric(writes, "writes/start")
		b.ReportMetric(cpu, "cpu-µs/start")
		b.ReportMetric(cpuPut, "cpu-µs/put")
		fmt.Printf("\nStart throughput: %d VMs on %d simulated hosts that boot at once, embedded etcd, %s\n", vms, hosts, machine())
		fmt.Printf("  first spec to last status Running  %6.2fs   (of it writing the specs %.2fs)\n", took.Seconds(), applied.Seconds())
		fmt.Printf("  starts a second                    %6.0f   (%.0f µs of CPU time each, etcd and simulation included)\n", starts, cpu)
		fmt.Printf("  puts a second                      %6.0f   (%.0f before, %.0f after; %.0f µs of CPU time each)\n", put, before, after, cpuPut)
		fmt.Printf("  ratio                              %6.2f   (aim: at least 0.25)\n", starts/put)
		fmt.Printf("  status writes a start              %6.2f   (aim: at most 3; %.0f bytes on average)\n", writes, size)
	}
}

// statusSize is about what a status of BenchmarkStarts has, in bytes.
const statusSize = 400
