package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/engine"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// fleet is a control plane with simulated hosts.
type fleet struct {
	store  *etcd.Store
	reg    *registry.Registry
	hosts  *sim.Fleet
	engine func() (stop func())
}

func newFleet(b *testing.B, hosts int) *fleet {
	ctx := context.Background()
	st, err := etcd.StartEmbedded(ctx, etcd.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	f := &fleet{store: st, reg: registry.New(st, time.Now), hosts: sim.New(sim.Options{})}
	config, err := f.reg.EnsureCluster(ctx)
	if err != nil {
		b.Fatal(err)
	}
	config.Spec.StartLimit = v1.StartLimit{Cluster: 100000, PerHost: 100000}
	if _, err := f.reg.UpdateConfig(ctx, config); err != nil {
		b.Fatal(err)
	}
	for i := range hosts {
		name := fmt.Sprintf("host%03d", i)
		h := f.hosts.AddHost(sim.HostConfig{Name: name, Memory: 1 << 40, CPUs: 1024})
		if _, err := f.reg.CreateHost(ctx, &v1.Host{Metadata: v1.ObjectMeta{Name: name}, Spec: v1.HostSpec{URI: h.URI()}}); err != nil {
			b.Fatal(err)
		}
	}
	f.engine = func() func() {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		e := engine.New(engine.Options{Store: st, Driver: f.hosts, Name: "bench", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		go func() { e.Run(ctx); close(done) }()
		return func() { cancel(); <-done }
	}
	return f
}

// put writes the specs of n VMs named prefix-0, prefix-1, … as the registry does, in transactions of a thousand, without its checks:
// what is measured is what follows.
func (f *fleet) put(b *testing.B, prefix string, n int, strategy v1.RunStrategy) {
	const batch = 1000
	for from := 0; from < n; from += batch {
		var t store.Txn
		for i := from; i < min(n, from+batch); i++ {
			vm := &v1.VirtualMachine{TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindVirtualMachine},
				Metadata: v1.ObjectMeta{Namespace: "bench", Name: fmt.Sprintf("%s-%d", prefix, i), UID: uuid.NewString(), Generation: 1,
					CreationTimestamp: time.Now().UTC(), Labels: map[string]string{"app": "bench"}}}
			vm.Spec.RunStrategy = strategy
			vm.Spec.Template = v1.Template{Memory: 64 << 20,
				Disks: []v1.Disk{{Name: "root", Pool: "shared", Volume: fmt.Sprintf("%s-%d.qcow2", prefix, i)}},
				NICs:  []v1.NIC{{Name: "lan", Network: "default"}}}
			v1.SetDefaults(vm)
			t.Put = append(t.Put, store.KV{Key: layout.VMSpecKey("bench", vm.Metadata.Name), Value: layout.EncodeVMSpec(vm)})
		}
		if _, err := f.store.Txn(context.Background(), t); err != nil {
			b.Fatal(err)
		}
	}
}

// running waits until n VMs have status Running, and returns how often each status was written on the way, on average.
func (f *fleet) running(b *testing.B, from int64, n int) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	writes, running := 0, map[string]bool{}
	for batch := range f.store.Watch(ctx, layout.Status+layout.VM+"/", from) {
		if batch.Err != nil {
			b.Fatal(batch.Err)
		}
		for _, c := range batch.Changes {
			writes++
			var s layout.StatusOf[v1.VirtualMachineStatus]
			if err := json.Unmarshal(c.Value, &s); err != nil {
				b.Fatal(err)
			}
			if s.Status.PrintableStatus == v1.PrintableRunning {
				running[c.Key] = true
			}
		}
		if len(running) == n {
			return float64(writes) / float64(n)
		}
	}
	b.Fatalf("%d of %d VMs ran when time was up", len(running), n)
	return 0
}

func machine() string { return fmt.Sprintf("%d CPUs, %s", runtime.NumCPU(), runtime.Version()) }
