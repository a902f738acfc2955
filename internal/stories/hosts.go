package stories

import (
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
)

func (w *World) hostStep(s Step) {
	h := w.Fleet.Host(s.Host)
	if h == nil {
		return
	}
	w.fault(s.Host, string(s.Verb))
	lasting := func(begin, end func()) {
		begin()
		time.AfterFunc(s.For, func() {
			w.fault(s.Host, string(s.Verb)+" is over:")
			end()
		})
	}
	switch s.Verb {
	case Freeze:
		lasting(h.Freeze, h.Thaw)
	case FreezeAtCreate:
		lasting(h.FreezeAtCreate, h.Thaw)
	case Unplug:
		lasting(h.Unplug, h.Plug)
	case PowerCut:
		lasting(func() { w.powerOff(h) }, h.PowerOn)
	case Reboot:
		h.EndGuests(s.Farewell)
		time.AfterFunc(s.After, func() { lasting(func() { w.powerOff(h) }, h.PowerOn) })
	case LoseAnswers:
		h.LoseAnswers(s.N)
	case FailStarts:
		texts := make([]string, s.N)
		for i := range texts {
			texts[i] = "internal error: cannot load the kernel"
		}
		h.FailStarts(texts...)
	case Disconnect:
		h.Disconnect()
	case RestartDaemon:
		h.RestartLibvirtd()
		w.rec.add(invariant.Fault{Host: s.Host, What: "libvirtd has restarted on", Forgets: true})
	}
}

func (w *World) powerOff(h *sim.Host) {
	w.rec.add(invariant.Fault{Host: h.Name(), What: "no power on", Down: true})
	h.PowerOff()
}

// vouch lets a person look at a host, and say that it is down: truly, or falsely where the story says so. Of a host that is not
// Unreachable nobody's word is taken.
func (w *World) vouch(u *users, host string) {
	down := !w.Fleet.Host(host).Powered()
	if !down && !w.setting.Lies {
		return
	}
	if h, err := u.registry.GetHost(w.ctx, host); err != nil || h.Status.State != v1.HostUnreachable {
		return
	}
	w.rec.add(invariant.Fault{Host: host, What: "somebody says that it is down:", Lie: !down})
	_ = insist(func() error { // refused when it has just come back, and the world may be over by now
		_, err := u.registry.ConfirmHostDown(w.ctx, host, "somebody")
		return err
	})
}
