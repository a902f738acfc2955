package core

import (
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
)

// lastGasp is how long before a host goes down its guests' ends are taken for its doing: a reboot shuts them down first, by ACPI or by
// SIGTERM, and each then looks as if it had ended by itself.
const lastGasp = time.Minute

// fence acts on a person's word that a host runs nothing: its instances have ended, and what their owners want goes on elsewhere. It
// needs a host that does not answer; one that does shows for itself.
func (c *Core) fence(h *fleet.Host) {
	word := h.Spec.ConfirmedDown
	if !c.loaded || word == nil || !word.At.After(h.Status.FencedAt) || !h.Silent {
		return
	}
	said := "a person confirmed that " + h.Name + " is down"
	if word.By != "" {
		said = word.By + " confirmed that " + h.Name + " is down"
	}
	c.blameHost(h)
	for _, v := range h.BoundVMs() {
		if in := v.Status.Instance; in != nil && in.Host == h.Name {
			c.end(v, v1.PhaseFailed, lifecycle.EndHostLost, said, false)
		}
	}
	h.Status.FencedAt = word.At
	c.writeHost(h)
	c.notice(h.Ref(), true, "Fenced", said+"; its VMs start elsewhere")
}

// blameHost judges again what has ended on a host just before it went down: it was the host's doing, not the guest's wish.
func (c *Core) blameHost(h *fleet.Host) {
	lost := h.Status.LostAt
	if lost.IsZero() {
		return
	}
	for _, v := range c.sortedVMs() {
		if len(v.Status.History) == 0 {
			continue
		}
		e := v.Status.History[0]
		if e.Host != h.Name || e.Reason != lifecycle.EndGuestShutdown || e.EndedAt.Before(lost.Add(-lastGasp)) || e.EndedAt.After(lost) {
			continue
		}
		e.Phase, e.Reason = v1.PhaseFailed, lifecycle.EndHostDown
		e.Message = "the guest shut down while its host was going down"
		st := v.Mutable()
		st.History = slices.Concat([]v1.End{e}, st.History[1:])
		if v.Strategy == v1.RunRerunOnFailure {
			st.Finished = nil
		}
		c.touch(v)
	}
}
