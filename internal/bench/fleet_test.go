package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
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

// The benchmarks run as the server does.
func init() { engine.TuneGC() }

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

// specs are those of n VMs named prefix-0, prefix-1, …, as the registry stores them.
func specs(prefix string, n int, strategy v1.RunStrategy) []store.KV {
	kvs := make([]store.KV, n)
	for i := range kvs {
		vm := &v1.VirtualMachine{TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindVirtualMachine},
			Metadata: v1.ObjectMeta{Namespace: "bench", Name: fmt.Sprintf("%s-%d", prefix, i), UID: uuid.NewString(), Generation: 1,
				CreationTimestamp: time.Now().UTC(), Labels: map[string]string{"app": "bench"}}}
		vm.Spec.RunStrategy = strategy
		vm.Spec.Template = v1.Template{Memory: 64 << 20,
			Disks: []v1.Disk{{Name: "root", Pool: "shared", Volume: fmt.Sprintf("%s-%d.qcow2", prefix, i)}},
			NICs:  []v1.NIC{{Name: "lan", Network: "default"}}}
		v1.SetDefaults(vm)
		kvs[i] = store.KV{Key: layout.VMSpecKey("bench", vm.Metadata.Name), Value: layout.EncodeVMSpec(vm)}
	}
	return kvs
}

// put writes specs in transactions of a thousand, without the registry's checks: what is measured is what follows.
func (f *fleet) put(b *testing.B, specs []store.KV) {
	for chunk := range slices.Chunk(specs, 1000) {
		if _, err := f.store.Txn(context.Background(), store.Txn{Put: chunk}); err != nil {
			b.Fatal(err)
		}
	}
}

// up waits until n hosts are up.
func (f *fleet) up(b *testing.B, n int) {
	f.await(b, layout.Status+layout.Host+"/", 1, n, `"state":"`+string(v1.HostUp)+`"`)()
}

// running begins to watch, and returns a function that waits until n VMs have got status Running.
func (f *fleet) running(b *testing.B, n int) (wait func() written) {
	_, revision, err := f.store.List(context.Background(), layout.Leader)
	if err != nil {
		b.Fatal(err)
	}
	return f.await(b, layout.Status+layout.VM+"/", revision+1, n, `"printableStatus":"`+v1.PrintableRunning+`"`)
}

// written counts values and their bytes.
type written struct{ values, bytes int }

// await watches keys with the prefix from a revision on; the function that it returns waits until n of them have had a value with
// the words in it, and tells how much was written on the way. Values are not decoded: this work counts as Holdfast's.
func (f *fleet) await(b *testing.B, prefix string, from int64, n int, words string) (wait func() written) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	watch := f.store.Watch(ctx, prefix, from)
	done, w, ended := map[string]bool{}, written{}, make(chan error, 1)
	go func() {
		defer cancel()
		for batch := range watch {
			for _, c := range batch.Changes {
				w.values++
				w.bytes += len(c.Value)
				if bytes.Contains(c.Value, []byte(words)) {
					done[c.Key] = true
				}
			}
			if len(done) >= n || batch.Err != nil {
				ended <- batch.Err
				return
			}
		}
		ended <- ctx.Err()
	}()
	return func() written {
		if err := <-ended; err != nil {
			b.Fatalf("%d of %d under %s had %s: %v", len(done), n, prefix, words, err)
		}
		return w
	}
}

func machine() string { return fmt.Sprintf("%d CPUs, %s", runtime.NumCPU(), runtime.Version()) }
