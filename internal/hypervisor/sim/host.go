package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Host is one simulated machine with libvirt on it. Its methods are what the world does to it; what Holdfast does goes through a
// connection.
type Host struct {
	fleet *Fleet
	name  string

	mu      sync.Mutex // guards everything below, and the host's connections
	facts   hypervisor.Facts
	domains map[string]*domain
	order   []*domain // the same, in the order of their first definition
	conns   []*conn

	off, frozen, unplugged bool
	// boots counts the boots, the last one at booted.
	boots  int
	booted time.Time
	// life counts power cuts and restarts of libvirtd: what was on its way in an earlier life is lost.
	life int
	// silence counts the times that the host fell silent or spoke again.
	silence int
	// parked is what waits for the daemon to thaw or the cable to be plugged, in order.
	parked []parcel

	loseAnswers    int
	failStarts     []string
	freezeAtCreate bool
}

// parcel is something on its way to or from the daemon.
type parcel struct {
	life int
	// network: it travels over the cable. Otherwise only the daemon must run.
	network bool
	do      func()
}

// Name of the host, URI to reach it.
func (h *Host) Name() string { return h.name }

// URI is where a driver reaches the host.
func (h *Host) URI() string { return "sim://" + h.name }

// Powered reports whether the host has power.
func (h *Host) Powered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.off
}

// Domains returns what is really there, in the order of the first definition, also while the host is out of reach.
func (h *Host) Domains() []hypervisor.Domain {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list()
}

func (h *Host) list() []hypervisor.Domain {
	all := make([]hypervisor.Domain, 0, len(h.order))
	for _, d := range h.order {
		all = append(all, d.show())
	}
	return all
}

// send lets do happen on the host after the delay, or whenever a frozen daemon or a pulled cable lets it through; never, when the
// host loses power before. h.mu is held, now and when do runs.
func (h *Host) send(delay time.Duration, network bool, do func()) {
	p := parcel{life: h.life, network: network, do: do}
	if delay <= 0 {
		h.arrive(p)
		return
	}
	time.AfterFunc(delay, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.arrive(p)
	})
}

func (h *Host) arrive(p parcel) {
	switch {
	case p.life != h.life || h.off:
	case h.frozen || p.network && h.unplugged:
		h.parked = append(h.parked, p)
	default:
		p.do()
	}
}

// unpark lets go on what can. Calls that waited overtake each other, as they do in libvirtd's pool of workers.
func (h *Host) unpark() {
	waiting := h.parked
	h.parked = nil
	for i, p := range waiting {
		nth := string(rune(i))
		delay := h.fleet.pick(h.fleet.opts.Latency, "unpark", h.name, nth) + h.fleet.pick(h.fleet.opts.Backlog, "backlog", h.name, nth)
		h.send(delay, p.network, p.do)
	}
}

// silent is called when the host stops answering: connections that exist are found dead when it lasts.
func (h *Host) silent() {
	h.silence++
	episode, conns := h.silence, slices.Clone(h.conns)
	time.AfterFunc(h.fleet.opts.KeepAlive, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.silence == episode {
			for _, c := range conns {
				c.lose()
			}
		}
	})
}

func (h *Host) dropConnections() {
	for _, c := range slices.Clone(h.conns) {
		c.lose()
	}
}
