package sim

import (
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// domain is one domain on a host. It keeps no template: 10,000 of them must be cheap.
type domain struct {
	uuid, name                  string
	clusterUID, vmUID, instance string
	memory                      v1.Quantity
	vcpus                       int
	state                       hypervisor.DomainState
	why                         string
	guest                       Guest
	missing                     string // libvirt's text when a pool or network is not there: create fails with it
	run                         *run   // nil while inactive
}

// run is one time that a domain is active. Timers keep a pointer to theirs, and do nothing when the domain has another by then.
type run struct {
	began    time.Time // running since
	starting []func(error)
	stopping bool
}

func (d *domain) show() hypervisor.Domain {
	s := hypervisor.Domain{
		UUID: d.uuid, Name: d.name, ClusterUID: d.clusterUID, VMUID: d.vmUID, InstanceID: d.instance, State: d.state, Why: d.why,
	}
	if d.run != nil {
		s.Memory, s.VCPUs = d.memory, d.vcpus
	}
	return s
}

// by is who changes a domain.
type by struct {
	cause       Cause
	op, process string
}

// become puts the domain into a state and tells the world. ended goes into the event.
func (h *Host) become(d *domain, state hypervisor.DomainState, why, ended string, who by) {
	d.state, d.why = state, why
	if state == hypervisor.DomainInactive {
		d.run = nil
	}
	h.observe(d, state, why, who)
	h.emit(hypervisor.Event{UUID: d.uuid, Ended: ended})
}

func (h *Host) observe(d *domain, state hypervisor.DomainState, why string, who by) {
	if h.fleet.opts.OnChange == nil {
		return
	}
	h.fleet.opts.OnChange(Change{
		At: time.Now(), Host: h.name, UUID: d.uuid, VMUID: d.vmUID, ClusterUID: d.clusterUID, Instance: d.instance,
		State: state, Why: why, Memory: d.memory, VCPUs: d.vcpus, Cause: who.cause, Op: who.op, Process: who.process,
	})
}

// emit tells every connection, as unreliably as the options say.
func (h *Host) emit(ev hypervisor.Event) {
	o := &h.fleet.opts
	for i, c := range h.conns {
		times := 1
		if o.EventLoss+o.EventTwice > 0 {
			switch r := int(h.fleet.chance("event", h.name, ev.UUID, ev.Ended, string(rune(i))) % 100); {
			case r < o.EventLoss:
				times = 0
			case r < o.EventLoss+o.EventTwice:
				times = 2
			}
		}
		for n := range times {
			delay := h.fleet.pick(o.EventDelay, "delay", h.name, ev.UUID, ev.Ended, string(rune(i)), string(rune(n)))
			h.send(delay, true, func() { c.push(ev) })
		}
	}
}

// add puts a new definition on the host, in place of an old one. As in libvirt the reason why the old one was off stays.
func (h *Host) add(d *domain, who by) {
	why := hypervisor.WhyUnknown
	if old := h.domains[d.uuid]; old != nil {
		why = old.why
		h.order[slices.Index(h.order, old)] = d
	} else {
		h.order = append(h.order, d)
	}
	h.domains[d.uuid] = d
	h.become(d, hypervisor.DomainInactive, why, "", who)
}

func (h *Host) remove(d *domain, who by) {
	delete(h.domains, d.uuid)
	i := slices.Index(h.order, d)
	h.order = slices.Delete(h.order, i, i+1)
	h.observe(d, "", "", who)
	h.emit(hypervisor.Event{UUID: d.uuid})
}

// start begins a run of an inactive domain; done is called when it runs or has failed.
func (h *Host) start(d *domain, who by, done func(error)) {
	if d.missing != "" {
		h.become(d, hypervisor.DomainInactive, hypervisor.WhyFailed, hypervisor.WhyFailed, who)
		done(&hypervisor.HostError{Op: "create domain", Message: d.missing})
		return
	}
	r := &run{starting: []func(error){done}}
	d.run = r
	startError := d.guest.StartError
	if len(h.failStarts) > 0 {
		startError, h.failStarts = h.failStarts[0], h.failStarts[1:]
	}
	booted := func() {
		switch {
		case d.run != r: // ended while it was starting: whoever ended it has answered
		case startError != "":
			h.become(d, hypervisor.DomainInactive, hypervisor.WhyFailed, hypervisor.WhyFailed, who)
			r.answer(&hypervisor.HostError{Op: "create domain", Message: startError})
		default:
			r.began = time.Now()
			h.become(d, hypervisor.DomainRunning, "booted", "", who)
			h.live(d, r)
			r.answer(nil)
		}
	}
	if d.guest.Boot <= 0 {
		booted()
		return
	}
	h.become(d, hypervisor.DomainPaused, hypervisor.WhyStartup, "", who)
	h.send(d.guest.Boot, false, booted)
}

// answer tells whoever waits for the start how it went.
func (r *run) answer(err error) {
	for _, done := range r.starting {
		done(err)
	}
	r.starting = nil
}

// live sets the guest's own plans in motion.
func (h *Host) live(d *domain, r *run) {
	if d.guest.PowersOffAfter > 0 {
		h.guestActs(d, r, d.guest.PowersOffAfter, func() { h.powerOffGuest(d, by{cause: CauseGuest}) })
	}
	if d.guest.CrashesAfter > 0 {
		h.guestActs(d, r, d.guest.CrashesAfter, func() { h.crashGuest(d, by{cause: CauseGuest}) })
	}
}

// guestActs does something in the guest after a while, if it still lives then. No frozen daemon keeps a guest from acting; a paused
// guest does nothing, and forgets what it was about to do.
func (h *Host) guestActs(d *domain, r *run, after time.Duration, act func()) {
	time.AfterFunc(after, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if d.run == r && d.state == hypervisor.DomainRunning {
			act()
		}
	})
}

// powerOffGuest is a guest that shut itself down: libvirt tells it twice, first that the guest asked, then that it stopped.
func (h *Host) powerOffGuest(d *domain, who by) {
	h.emit(hypervisor.Event{UUID: d.uuid, Ended: "shutdown-guest"})
	h.become(d, hypervisor.DomainInactive, hypervisor.WhyShutdown, hypervisor.WhyShutdown, who)
}

// crashGuest is a guest that panicked, with on_crash=destroy.
func (h *Host) crashGuest(d *domain, who by) {
	h.become(d, hypervisor.DomainInactive, hypervisor.WhyCrashed, hypervisor.WhyCrashed, who)
}

// switchOff ends a run from outside the guest.
func (h *Host) switchOff(d *domain, why string, who by) {
	r := d.run
	h.become(d, hypervisor.DomainInactive, why, why, who)
	r.answer(&hypervisor.HostError{Op: "create domain", Message: "operation failed: domain was destroyed while it was starting"})
}
