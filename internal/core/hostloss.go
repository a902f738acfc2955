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
	if !c.loaded || word == nil || !word.At.After(h.Status.WordAt) || !h.Connected && !h.Silent {
		return
	}
	h.Status.WordAt = word.At
	if h.Connected {
		c.writeHost(h) // the word is used up: it was not about the host's next loss
		c.notice(h.Ref(), true, "NotFenced", vouched(h)+", but it answers; nothing was done")
		return
	}
	h.Status.FencedAt = c.now
	c.writeHost(h)
	c.notice(h.Ref(), true, "Fenced", vouched(h)+"; its VMs start elsewhere")
	for _, v := range h.BoundVMs() {
		c.touch(v)
	}
	c.touchEnded(h)
}

func vouched(h *fleet.Host) string {
	if word := h.Spec.ConfirmedDown; word != nil && word.By != "" {
		return word.By + " confirmed that " + h.Name + " is down"
	}
	return "it was confirmed that " + h.Name + " is down"
}

// touchEnded lets the VMs be judged again whose last instance ended on the host.
func (c *Core) touchEnded(h *fleet.Host) {
	for _, v := range c.sortedVMs() {
		if len(v.Status.History) > 0 && v.Status.History[0].Host == h.Name {
			c.touch(v)
		}
	}
}

// blameHost judges the last end again when it was clean and its host went down right after it: that was the host's doing, not the
// guest's wish. A host that shuts down shuts its guests down (libvirt-guests, SIGTERM), saves or destroys them first. An end that is
// not certain yet is judged so too, before the host is lost another time.
func (c *Core) blameHost(v *fleet.VM) {
	if in := v.Status.Instance; in != nil && in.Abandon != nil && c.endedWithHost(in.Host, *in.Abandon) {
		blamed := blame(*in.Abandon)
		v.Mutable().Instance.Abandon = &blamed
	}
	if h := v.Status.History; len(h) == 0 || !c.endedWithHost(h[0].Host, h[0]) {
		return
	}
	st := v.Mutable()
	st.History = slices.Concat([]v1.End{blame(st.History[0])}, st.History[1:])
	if v.Strategy == v1.RunRerunOnFailure {
		st.Finished = nil
	}
}

func blame(e v1.End) v1.End {
	e.Phase, e.Reason, e.Message = v1.PhaseFailed, lifecycle.EndHostDown, "it ended while its host was going down"
	return e
}

// endedWithHost reports whether a clean end came just before its host went down.
func (c *Core) endedWithHost(host string, e v1.End) bool {
	h := c.hosts[host]
	if h == nil || !lifecycle.Clean(e) {
		return false
	}
	lost := h.Status.LostAt
	wentDown := !lost.IsZero() && (!h.Status.RebootedAt.Before(lost) || !h.Status.FencedAt.Before(lost))
	return wentDown && !e.EndedAt.Before(lost.Add(-lastGasp)) && !e.EndedAt.After(lost)
}
