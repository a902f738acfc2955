package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Options say how a fleet behaves. The zero value is a fleet whose calls take no time and whose guests boot at once.
type Options struct {
	// Seed of everything that looks random. The same question at the same moment has the same answer.
	Seed uint64
	// Latency is how long a call travels before the host carries it out, Answer how long the answer travels back.
	Latency, Answer Range
	// Backlog is how much longer calls take that have waited for a frozen daemon or a pulled cable: they overtake each other and
	// those that come later.
	Backlog Range
	// KeepAlive is how long a host may be silent before its connections are found dead; zero means 15s.
	KeepAlive time.Duration
	// EventDelay delays events; with different delays they also overtake each other. EventLoss and EventTwice are how many of
	// 100 events are lost or told twice.
	EventDelay            Range
	EventLoss, EventTwice int
	// Guest says how the guest of an instance behaves; it is asked once for each definition. Nil means GuestOf.
	Guest func(hypervisor.Machine) Guest
	// OnChange is told every change of a domain, as it happens, from outside. OnCall is told every call that changes something
	// when it has left its sender. Both are called in order for each host, under its lock: they must not call the fleet.
	OnChange func(Change)
	OnCall   func(Call)
}

// Range is a length of time between Min and Max. The zero value is no time.
type Range struct{ Min, Max time.Duration }

// Fleet is a number of simulated hosts. It is a hypervisor.Driver itself; Process gives drivers that can be killed.
type Fleet struct {
	opts Options
	own  *Process

	mu    sync.Mutex
	hosts map[string]*Host // by URI
}

var _ hypervisor.Driver = (*Fleet)(nil)

// New makes a fleet without hosts.
func New(opts Options) *Fleet {
	if opts.KeepAlive == 0 {
		opts.KeepAlive = 15 * time.Second
	}
	if opts.Guest == nil {
		opts.Guest = GuestOf
	}
	f := &Fleet{opts: opts, hosts: map[string]*Host{}}
	f.own = f.Process("fleet")
	return f
}

// HostConfig describes a host. Zero fields mean: 64Gi, 16 CPUs, machine types pc and q35, UEFI firmware, pool "shared" and
// network "default".
type HostConfig struct {
	Name            string
	Memory          v1.Quantity
	CPUs            int
	MachineTypes    map[string]string
	NoUEFI          bool
	Pools, Networks []string
}

// AddHost adds a host, powered on and empty. Its name must be new.
func (f *Fleet) AddHost(c HostConfig) *Host {
	if c.MachineTypes == nil {
		c.MachineTypes = map[string]string{
			"pc": "pc-i440fx-7.2", "pc-i440fx-7.2": "pc-i440fx-7.2", "q35": "pc-q35-7.2", "pc-q35-7.2": "pc-q35-7.2",
		}
	}
	if c.Pools == nil {
		c.Pools = []string{"shared"}
	}
	if c.Networks == nil {
		c.Networks = []string{"default"}
	}
	h := &Host{fleet: f, name: c.Name, domains: map[string]*domain{}, boots: 1, booted: time.Now()}
	h.facts = hypervisor.Facts{
		UUID: uuidOf("host " + c.Name), Hostname: c.Name,
		Memory: cmp.Or(c.Memory, 64<<30), CPUs: cmp.Or(c.CPUs, 16),
		LibvirtVersion: "9.0.0", QEMUVersion: "7.2.0", Accelerator: "kvm",
		MachineTypes: c.MachineTypes, UEFI: !c.NoUEFI,
		Pools: slices.Sorted(slices.Values(c.Pools)), Networks: slices.Sorted(slices.Values(c.Networks)),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts[h.URI()] != nil {
		panic("sim: two hosts are named " + c.Name)
	}
	f.hosts[h.URI()] = h
	return h
}

// Connect implements hypervisor.Driver.
func (f *Fleet) Connect(ctx context.Context, uri string) (hypervisor.Conn, error) {
	return f.own.Connect(ctx, uri)
}

// Hosts returns the hosts in the order of their names.
func (f *Fleet) Hosts() []*Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hosts []*Host
	for _, h := range f.hosts {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *Host) int { return cmp.Compare(a.name, b.name) })
	return hosts
}

// Host returns the host of that name, nil when there is none.
func (f *Fleet) Host(name string) *Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts["sim://"+name]
}

// pick is a length of time in the range, by chance.
func (f *Fleet) pick(r Range, words ...string) time.Duration {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + time.Duration(f.chance(words...)%uint64(r.Max-r.Min))
}

// chance is a number that depends on the seed, the words and the moment only, so that it is the same in every replay in virtual
// time, however goroutines interleave.
func (f *Fleet) chance(words ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d", f.opts.Seed, time.Now().UnixNano())
	for _, w := range words {
		h.Write([]byte{0})
		h.Write([]byte(w))
	}
	x := h.Sum64() // FNV's low bits are poor: mix once more (the finalizer of MurmurHash3)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func uuidOf(s string) string {
	h := fnv.New128a()
	h.Write([]byte(s))
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
