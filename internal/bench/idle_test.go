package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// BenchmarkIdle measures what 20,000 VMs cost that nobody touches: 10,000 running and 10,000 stopped, the production resync of their
// hosts included. Everything is measured with and without the engine in the same process, so that etcd and the simulation, which
// run in both, drop out.
func BenchmarkIdle(b *testing.B) {
	const each, hosts = 10000, 200
	const window = 65 * time.Second // a little more than one resync of every host
	for range b.N {
		f := newFleet(b, hosts)
		stop := f.engine()
		running := f.running(b, each)
		f.put(b, specs("on", each, v1.RunAlways))
		f.put(b, specs("off", each, v1.RunHalted))
		running()
		stop()

		time.Sleep(2 * time.Second) // etcd's own work after the writes
		heapWithout := heap()
		cpuWithout := cpuOver(window)
		stop = f.engine()
		time.Sleep(10 * time.Second) // the term loads, the hosts connect
		cpuWith := cpuOver(window)
		heapWith := heap()
		stop()

		core := float64(cpuWith-cpuWithout) / float64(window)
		perVM := float64(heapWith-heapWithout) / (2 * each)
		b.ReportMetric(100*core, "%core")
		b.ReportMetric(perVM, "B/VM")
		fmt.Printf("\nIdle cost: %d running and %d stopped VMs on %d simulated hosts, resync each minute, %s\n", each, each, hosts, machine())
		fmt.Printf("  CPU      %6.2f %% of a core   (%.2f %% with the engine, %.2f %% without; aim: under 2 %%)\n",
			100*core, 100*float64(cpuWith)/float64(window), 100*float64(cpuWithout)/float64(window))
		fmt.Printf("  memory   %6.0f bytes a VM   (heap %d MiB with the engine, %d MiB without; aim: under 8192)\n",
			perVM, heapWith>>20, heapWithout>>20)
	}
}

// heap is what is live after a collection, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuOver is the CPU time that this process uses in the window.
func cpuOver(window time.Duration) time.Duration {
	before := cpuUsed()
	time.Sleep(window)
	return cpuUsed() - before
}
