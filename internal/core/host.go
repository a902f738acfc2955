package core

import (
	"cmp"
	"maps"
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/placement"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// The reasons of a host that is not Up.
const (
	ReasonNoAnswer         = "NoAnswer"
	ReasonDuplicateUUID    = "DuplicateHostUUID"
	ReasonAnotherCluster   = "AnotherCluster"
	ReasonConnectionFailed = "ConnectionFailed"
)

func (c *Core) hostChanged(o *v1.Host) {
	h := c.hosts[o.Metadata.Name]
	if h == nil {
		h = fleet.NewHost(o)
		c.hosts[h.Name] = h
		i, _ := slices.BinarySearchFunc(c.views, h.Name, func(v *placement.Host, name string) int { return cmp.Compare(v.Name, name) })
		c.views = slices.Insert(c.views, i, &h.View)
	} else {
		moved := o.Spec.URI != h.Spec.URI
		h.Digest(o)
		if moved && c.loaded {
			c.moved(h)
		}
	}
	h.Refresh(c.config.StartLimit.PerHost)
	c.retry = true
	if !c.loaded {
		return
	}
	if h.Status.State == "" {
		h.Status.State, h.Status.Since = v1.HostConnecting, c.now
	} else if h.Status.ObservedGeneration == o.Metadata.Generation {
		return
	}
	h.Status.ObservedGeneration = o.Metadata.Generation
	c.writeHost(h)
	c.fence(h)
}

// moved: the host is to be reached elsewhere now, so what was known of it is of another connection.
func (c *Core) moved(h *fleet.Host) {
	h.Connected, h.Silent = false, false
	unsee(h)
	c.setHostState(h, h.Status, v1.HostConnecting, "", "")
}

func (c *Core) hostRemoved(name string) {
	h := c.hosts[name]
	if h == nil {
		return
	}
	delete(c.hosts, name)
	c.views = slices.DeleteFunc(c.views, func(v *placement.Host) bool { return v.Name == name })
	for _, v := range h.BoundVMs() {
		c.touch(v)
	}
}

func (c *Core) hostConnected(ev HostConnected) {
	h := c.hosts[ev.Host]
	if h == nil || ev.Epoch <= h.Epoch {
		return
	}
	rebooted := h.Rebooted(&ev.Facts, c.now)
	h.Connected, h.Silent, h.Epoch, h.Facts = true, false, ev.Epoch, ev.Facts
	slices.Sort(h.Facts.Pools)
	slices.Sort(h.Facts.Networks)
	unsee(h)

	st := h.Status
	if rebooted {
		if !st.LostAt.After(st.ConnectedAt) && st.LostAt.Before(c.loadedAt) {
			st.LostAt = c.loadedAt
		}
		st.RebootedAt = c.now
	}
	st.UUID, st.Capacity = ev.Facts.UUID, v1.Resources{Memory: ev.Facts.Memory, CPUs: ev.Facts.CPUs}
	st.LibvirtVersion, st.QEMUVersion, st.Accelerator = ev.Facts.LibvirtVersion, ev.Facts.QEMUVersion, ev.Facts.Accelerator
	st.Pools, st.Networks = h.Facts.Pools, h.Facts.Networks
	st.BootID, st.Uptime, st.ConnectedAt = ev.Facts.BootID, v1.Duration(ev.Facts.Uptime), c.now
	if word := h.Spec.ConfirmedDown; word != nil && word.At.After(st.WordAt) {
		st.WordAt = word.At // it answers, so nobody's word that it is down counts
	}
	reason, message := c.refusal(h, ev.Listing.Domains)
	state := v1.HostUp
	if reason != "" {
		state = v1.HostRefused
	}
	c.setHostState(h, st, state, reason, message)
	if state == v1.HostRefused {
		return // what it shows is none of our business, or another host's
	}

	ev.Listing.Host, ev.Listing.Epoch = ev.Host, ev.Epoch
	c.hostListed(ev.Listing)
	for _, v := range h.BoundVMs() {
		c.touch(v)
	}
	if rebooted {
		c.touchEnded(h)
	}
}

// refusal says why a host that answers must not be used; empty: it may.
func (c *Core) refusal(h *fleet.Host, domains []hypervisor.Domain) (reason, message string) {
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		if other := c.hosts[name]; other != h && h.Facts.UUID != "" && other.Status.UUID == h.Facts.UUID && senior(other, h) {
			return ReasonDuplicateUUID, "its libvirt has the same host UUID " + h.Facts.UUID + " as " + other.Name +
				"; if it is the same machine under another name, remove one of the two (holdfast host remove " + h.Name +
				"); if it is another machine, give it its own: host_uuid in /etc/libvirt/libvirtd.conf, then restart libvirtd"
		}
	}
	for _, d := range domains {
		if d.ClusterUID != "" && d.ClusterUID != c.clusterUID {
			return ReasonAnotherCluster, "the domain " + d.Name + " belongs to another Holdfast cluster (" + d.ClusterUID +
				"); a host serves one cluster: remove it from the other first"
		}
	}
	return "", ""
}

// senior: of two names for one host UUID, the one that has been in use stays in use, whoever connects first in a term.
func senior(a, b *fleet.Host) bool {
	inUse := func(h *fleet.Host) bool { return h.Status.State == v1.HostUp || h.Status.State == v1.HostUnreachable }
	if inUse(a) != inUse(b) {
		return inUse(a)
	}
	return inUse(a) && a.Name < b.Name
}

func (c *Core) hostLost(ev HostLost) {
	h := c.hosts[ev.Host]
	if h == nil || ev.Epoch < h.Epoch && (h.Connected || ev.Epoch != 0) {
		return // of an older connection; zero is of a try before there was any
	}
	if h.Connected {
		h.Connected = false
		unsee(h)
		h.Refresh(c.config.StartLimit.PerHost)
		h.Status.LostAt = c.now
		c.writeHost(h)
	} else if h.Status.LostAt.Before(h.Status.ConnectedAt) {
		h.Status.LostAt = c.loadedAt
		c.writeHost(h)
	}
	switch {
	case ev.Unreachable:
		h.Silent = true
		message := "libvirt at " + h.Spec.URI + " cannot be reached: " + ev.Err
		if h.Status.State != v1.HostUnreachable || h.Status.Message != message {
			c.setHostState(h, h.Status, v1.HostUnreachable, ReasonNoAnswer, message)
			for _, v := range h.BoundVMs() {
				c.touch(v)
			}
		}
		c.fence(h)
	case h.Status.State == v1.HostConnecting && h.Status.Message != ev.Err:
		c.setHostState(h, h.Status, v1.HostConnecting, ReasonConnectionFailed, ev.Err)
	}
}

// setHostState records a host's state and what goes with it, tells people when it changed, and lets its instances count anew.
func (c *Core) setHostState(h *fleet.Host, st v1.HostStatus, state v1.HostState, reason, message string) {
	old := h.Status
	st.State, st.Reason, st.Message = state, reason, message
	if old.State != state {
		st.Since = c.now
		said := "the host is " + string(state)
		if message != "" {
			said += ": " + message
		}
		c.notice(h.Ref(), state != v1.HostUp, "Host"+string(state), said)
	}
	h.Status = st
	h.Refresh(c.config.StartLimit.PerHost)
	for _, v := range h.BoundVMs() {
		if v.Status.Instance != nil && v.Status.Instance.Host == h.Name {
			c.setSlot(v)
		}
	}
	c.retry = true
	if !sameHostStatus(&old, &st) {
		c.writeHost(h)
	}
}

func sameHostStatus(a, b *v1.HostStatus) bool {
	return a.State == b.State && a.Reason == b.Reason && a.Message == b.Message && a.UUID == b.UUID && a.Capacity == b.Capacity &&
		a.LibvirtVersion == b.LibvirtVersion && a.QEMUVersion == b.QEMUVersion && a.Accelerator == b.Accelerator &&
		a.ConnectedAt.Equal(b.ConnectedAt) && slices.Equal(a.Pools, b.Pools) && slices.Equal(a.Networks, b.Networks) && a.ObservedGeneration == b.ObservedGeneration
}

// writeHost emits the host's status: before the VMs that are decided from it.
func (c *Core) writeHost(h *fleet.Host) {
	st := h.Status
	c.ready.Units = append(c.ready.Units, Unit{Writes: []Write{WriteHost{Name: h.Name, UID: h.UID, Status: &st}}})
}
