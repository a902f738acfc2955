package stories

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// Setting is what a story plays in. Zero fields mean what they mean where they are used.
type Setting struct {
	Seed uint64
	// Hosts, and Memory of each.
	Hosts  int
	Memory v1.Quantity
	// Planes is how many control planes run side by side: one leads, others stand by. Zero means 1.
	Planes int
	// Fleet is how hosts behave; its observers are the world's own, and its guests unless it has some.
	Fleet sim.Options
	// Write is how long a write to the store takes, Batch how many keys one changes unless one decision alone needs more; zero
	// means as in production.
	Write  time.Duration
	Batch  int
	Config v1.ClusterConfigSpec
	// Lies: people say that hosts are down which are merely unplugged. Until such a host is back, its VMs may run twice.
	Lies bool
	// Log of the control planes; nil discards it.
	Log *slog.Logger
}

// World is a store, a fleet, users and control planes that come and go. Make and close it inside a synctest bubble.
type World struct {
	setting  Setting
	Fleet    *sim.Fleet
	Store    *memory.Store
	Registry *registry.Registry
	rec      *recorder
	ctx      context.Context
	cancel   context.CancelFunc
	all      sync.WaitGroup
	// healed: from now on guests behave.
	healed atomic.Bool

	mu     sync.Mutex
	planes []*Plane
	booted int
	armed  *trap
	kills  int
	// steady is when a control plane last came or went.
	steady time.Time
	// over: no control plane follows one that dies.
	over bool
}

// NewWorld makes a world with its hosts and no control plane yet.
func NewWorld(s Setting) (*World, error) {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	w := &World{setting: s, Store: memory.New()}
	w.rec = &recorder{store: w.Store, sent: map[int64]time.Time{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.all.Go(func() { w.rec.follow(w.ctx) })

	fleet := s.Fleet
	if fleet.Guest == nil {
		fleet.Guest = w.guest
	}
	fleet.Seed, fleet.OnChange, fleet.OnCall = s.Seed, w.rec.changed, w.rec.called
	w.Fleet = sim.New(fleet)
	w.Registry = registry.New(w.Store, time.Now)
	config, err := w.Registry.EnsureCluster(w.ctx)
	if err != nil {
		return nil, err
	}
	config.Spec = s.Config
	if _, err := w.Registry.UpdateConfig(w.ctx, config); err != nil {
		return nil, err
	}
	for i := range s.Hosts {
		h := w.Fleet.AddHost(sim.HostConfig{Name: fmt.Sprintf("h%d", i+1), Memory: s.Memory})
		host := &v1.Host{Metadata: v1.ObjectMeta{Name: h.Name()}, Spec: v1.HostSpec{URI: h.URI()}}
		if _, err := w.Registry.CreateHost(w.ctx, host); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Wait lets time pass, and has statuses judged every ten seconds.
func (w *World) Wait(d time.Duration) {
	const every = 10 * time.Second
	for ; d > every; d -= every {
		time.Sleep(every)
		w.Sample()
	}
	time.Sleep(d)
}

// Sample is a moment at which statuses are judged.
func (w *World) Sample() {
	w.mu.Lock()
	steady := time.Since(w.steady) - takeover
	if len(w.planes) == 0 {
		steady = 0
	}
	w.mu.Unlock()
	w.rec.add(invariant.Sample{LeaderFor: steady})
}

// takeover is the longest that nobody leads after a control plane has gone or come: the lease, and a moment.
const takeover = 12 * time.Second

// Heal undoes every fault, and lets guests behave from now on.
func (w *World) Heal() {
	w.healed.Store(true)
	w.mu.Lock()
	w.armed = nil
	w.mu.Unlock()
	for _, h := range w.Fleet.Hosts() {
		h.Heal()
		for _, d := range h.Domains() {
			h.OutsiderResumes(d.UUID)
		}
		w.fault(h.Name(), "healed")
	}
}

func (w *World) fault(host, what string) { w.rec.add(invariant.Fault{Host: host, What: what}) }

// Kills is how many control planes were killed so far.
func (w *World) Kills() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kills
}

// Close ends the story and returns its log. Quiescent: nothing should remain to be done.
func (w *World) Close(quiescent bool) []invariant.Entry {
	time.Sleep(time.Millisecond) // the store's watch catches up
	w.rec.add(invariant.End{Quiescent: quiescent})
	log := w.rec.log()
	w.mu.Lock()
	w.over = true
	planes := w.planes
	w.mu.Unlock()
	for _, p := range planes {
		p.cancel()
	}
	w.cancel()
	w.all.Wait()
	w.Store.Close()
	return log
}
