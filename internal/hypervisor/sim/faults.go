package sim

import (
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func (h *Host) with(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

// Freeze stops libvirtd (SIGSTOP): guests go on, calls wait.
func (h *Host) Freeze() { h.with(h.freeze) }

func (h *Host) freeze() {
	if !h.frozen {
		h.frozen = true
		h.silent()
	}
}

// FreezeAtCreate freezes libvirtd when the next request to start a domain has reached it, before it acts on it.
func (h *Host) FreezeAtCreate() { h.with(func() { h.freezeAtCreate = true }) }

// Thaw lets libvirtd go on: it carries out every call that has waited, whoever sent it.
func (h *Host) Thaw() {
	h.with(func() {
		if h.frozen {
			h.frozen = false
			h.silence++
			h.unpark()
		}
	})
}

// Unplug pulls the network cable: guests go on, nothing gets in or out.
func (h *Host) Unplug() {
	h.with(func() {
		if !h.unplugged {
			h.unplugged = true
			h.silent()
		}
	})
}

// Plug puts the cable back. What was sent meanwhile arrives, as TCP sees to.
func (h *Host) Plug() {
	h.with(func() {
		if h.unplugged {
			h.unplugged = false
			h.silence++
			h.unpark()
		}
	})
}

// PowerOff cuts the power: everything that ran is gone, and everything on its way too.
func (h *Host) PowerOff() {
	h.with(func() {
		if h.off {
			return
		}
		for _, d := range h.order {
			if d.run != nil {
				d.state, d.why, d.run = hypervisor.DomainInactive, hypervisor.WhyUnknown, nil
				h.observe(d, d.state, d.why, by{cause: CausePower})
			}
			d.why = hypervisor.WhyUnknown
		}
		h.off, h.parked = true, nil
		h.life++
		h.silent()
	})
}

// PowerOn boots the host: definitions are there, nothing runs, libvirt has forgotten how anything ended, and connections from
// before are refused. A frozen daemon is a new one now; a pulled cable stays pulled.
func (h *Host) PowerOn() {
	h.with(func() {
		if !h.off {
			return
		}
		h.off, h.frozen = false, false
		h.boots, h.booted = h.boots+1, time.Now()
		h.silence++
		h.dropConnections()
	})
}

// RestartLibvirtd restarts the daemon: guests go on, connections break, calls on their way are lost, and the reasons of domains
// that are off are forgotten.
func (h *Host) RestartLibvirtd() {
	h.with(func() {
		if h.off {
			return
		}
		for _, d := range h.order {
			if d.run == nil {
				d.why = hypervisor.WhyUnknown
			} else if d.why == hypervisor.WhyStartup { // a start that nobody is there to finish: libvirtd kills it when it comes up
				h.switchOff(d, hypervisor.WhyUnknown, by{cause: CauseOutsider})
			}
		}
		h.frozen, h.parked = false, nil
		h.life++
		h.silence++
		h.dropConnections()
	})
}

// Disconnect breaks all connections that exist. Calls that have been sent are carried out; their answers are lost.
func (h *Host) Disconnect() { h.with(h.dropConnections) }

// LoseAnswers lets the next n calls that change something be carried out without an answer.
func (h *Host) LoseAnswers(n int) { h.with(func() { h.loseAnswers = n }) }

// FailStarts lets the next starts on this host fail, each with its text.
func (h *Host) FailStarts(texts ...string) {
	h.with(func() { h.failStarts = append(h.failStarts, texts...) })
}

// Heal undoes every lasting fault.
func (h *Host) Heal() {
	h.PowerOn()
	h.Plug()
	h.Thaw()
	h.with(func() { h.loseAnswers, h.failStarts, h.freezeAtCreate = 0, nil, false })
}

// askGuest presses the guest's power button.
func (h *Host) askGuest(d *domain, who by) {
	r := d.run
	switch {
	case r.stopping, d.guest.IgnoresACPI, d.state != hypervisor.DomainRunning, time.Since(r.began) < d.guest.Deaf:
		return
	case d.guest.Shutdown <= 0:
		h.powerOffGuest(d, who)
		return
	}
	r.stopping = true
	h.guestActs(d, r, d.guest.Shutdown, func() { h.powerOffGuest(d, who) })
}

// GuestPowersOff lets the guest shut itself down now. False when it does not run.
func (h *Host) GuestPowersOff(uuid string) bool {
	return h.ifRunning(uuid, func(d *domain) { h.powerOffGuest(d, by{cause: CauseGuest}) })
}

// GuestCrashes lets the guest panic now. False when it does not run.
func (h *Host) GuestCrashes(uuid string) bool {
	return h.ifRunning(uuid, func(d *domain) { h.crashGuest(d, by{cause: CauseGuest}) })
}

// OutsiderDestroys switches a domain off behind Holdfast's back. False when it does not run.
func (h *Host) OutsiderDestroys(uuid string) bool {
	return h.ifRunning(uuid, func(d *domain) { h.switchOff(d, hypervisor.WhyDestroyed, by{cause: CauseOutsider}) })
}

// OutsiderSaves saves a guest to a file and ends it behind Holdfast's back. False when it does not run.
func (h *Host) OutsiderSaves(uuid string) bool {
	return h.ifRunning(uuid, func(d *domain) { h.switchOff(d, hypervisor.WhySaved, by{cause: CauseOutsider}) })
}

// OutsiderPauses stops a guest's CPUs, as an administrator (WhyUser) or a full disk (WhyIOError) does. False when it does not run.
func (h *Host) OutsiderPauses(uuid, why string) bool {
	return h.ifRunning(uuid, func(d *domain) { h.become(d, hypervisor.DomainPaused, why, "", by{cause: CauseOutsider}) })
}

// OutsiderResumes lets a paused guest go on. False when it is not paused.
func (h *Host) OutsiderResumes(uuid string) (done bool) {
	h.with(func() {
		if d := h.domains[uuid]; d != nil && d.state == hypervisor.DomainPaused && d.why != hypervisor.WhyStartup {
			h.become(d, hypervisor.DomainRunning, "unpaused", "", by{cause: CauseOutsider})
			done = true
		}
	})
	return done
}

// OutsiderStarts starts a domain that is off behind Holdfast's back. False when there is none.
func (h *Host) OutsiderStarts(uuid string) (done bool) {
	h.with(func() {
		if d := h.domains[uuid]; d != nil && d.run == nil && !h.off {
			h.start(d, by{cause: CauseOutsider}, func(error) {})
			done = true
		}
	})
	return done
}

// DefineForeign puts somebody else's domain on the host, running or not, and returns its UUID.
func (h *Host) DefineForeign(name string, memory v1.Quantity, running bool) string {
	d := &domain{uuid: uuidOf("foreign " + h.name + " " + name), name: name, memory: memory, vcpus: 1}
	h.with(func() {
		h.add(d, by{cause: CauseOutsider})
		if running {
			h.start(d, by{cause: CauseOutsider}, func(error) {})
		}
	})
	return d.uuid
}

// OutsiderRemoves takes a domain off the host for good, running or not. False when there is none.
func (h *Host) OutsiderRemoves(uuid string) (done bool) {
	h.with(func() {
		d := h.domains[uuid]
		if d == nil {
			return
		}
		if d.run != nil {
			h.switchOff(d, hypervisor.WhyDestroyed, by{cause: CauseOutsider})
		}
		h.remove(d, by{cause: CauseOutsider})
		done = true
	})
	return done
}

func (h *Host) ifRunning(uuid string, do func(*domain)) (done bool) {
	h.with(func() {
		if d := h.domains[uuid]; d != nil && d.run != nil && d.state == hypervisor.DomainRunning {
			do(d)
			done = true
		}
	})
	return done
}
