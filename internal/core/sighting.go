package core

import (
	"maps"
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func (c *Core) domainSeen(ev DomainSeen) {
	h := c.hosts[ev.Host]
	if h == nil || !h.Usable() || ev.Epoch != h.Epoch {
		return
	}
	switch ev.Ended {
	case "":
	case hypervisor.Reset:
		c.countReset(h, ev.UUID)
	default:
		// How it ended is told once, so it is kept even when the sighting itself is too late or too early to count.
		if d := h.Domains[ev.UUID]; d != nil && (d.InFlight == 0 || d.Asked != int(CommandLaunch)) {
			d.Ended = ev.Ended
		}
	}
	c.sight(h, ev.UUID, ev.Seq, ev.Domain)
}

// countReset: a guest that resets itself again and again looks healthy from outside, so it is counted and shown.
func (c *Core) countReset(h *fleet.Host, uuid string) {
	v := c.vms[uuid]
	if v == nil || v.Status.Instance == nil || v.Status.Instance.Host != h.Name || v.Status.Instance.Phase != v1.PhaseRunning {
		return
	}
	in := v.Mutable().Instance
	in.Resets++
	in.LastResetAt = c.now
	c.notice(v.Ref(), false, "Reset", "the guest of instance "+in.ID+" rebooted; the instance goes on")
	c.touch(v)
}

func (c *Core) hostListed(ev HostListed) {
	h := c.hosts[ev.Host]
	if h == nil || !h.Connected || ev.Epoch != h.Epoch || ev.Seq <= h.ListSeq {
		return
	}
	if !h.Usable() && !c.admitHost(h, ev.Domains) {
		return
	}
	h.ListSeq = ev.Seq
	listed := make(map[string]bool, len(ev.Domains))
	for i := range ev.Domains {
		listed[ev.Domains[i].UUID] = true
		c.sight(h, ev.Domains[i].UUID, ev.Seq, &ev.Domains[i])
	}
	var absent []string
	for uuid := range h.Domains { // any order: sorted below
		if !listed[uuid] {
			absent = append(absent, uuid)
		}
	}
	slices.Sort(absent)
	for _, uuid := range absent {
		c.sight(h, uuid, ev.Seq, nil)
	}
}

// admitHost judges a refused host again: its cause may be gone. If so this listing is the first that counts.
func (c *Core) admitHost(h *fleet.Host, domains []hypervisor.Domain) bool {
	reason, message := c.refusal(h, domains)
	if reason != "" {
		c.setHostState(h, h.Status, v1.HostRefused, reason, message)
		return false
	}
	c.setHostState(h, h.Status, v1.HostUp, "", "")
	for _, v := range h.BoundVMs() {
		c.touch(v)
	}
	return true
}

// sight takes in what a host shows of one domain, unless something newer is known or a command is under way that will tell.
func (c *Core) sight(h *fleet.Host, uuid string, seq int64, seen *hypervisor.Domain) {
	d := h.Domains[uuid]
	if d == nil {
		if seen == nil {
			return
		}
		d = &fleet.Domain{UUID: uuid, Seq: seq - 1}
		h.Domains[uuid] = d
	}
	if seq <= d.Seq || d.InFlight != 0 {
		return
	}
	d.Seq = seq
	if d.Seen && seen != nil && d.Current != nil && *seen == *d.Current {
		return // as before
	}
	d.Seen, d.Current = true, seen
	if seen != nil {
		d.Absences = 0
	} else {
		d.Absences++
	}
	c.recognise(h, d)
	if seen == nil {
		c.forget(h, uuid)
	}
}

// recognise says whose a domain is, charges what is not an instance of ours, and touches the VM it belongs to.
func (c *Core) recognise(h *fleet.Host, d *fleet.Domain) {
	var charge v1.Resources
	v := c.vms[d.UUID]
	switch {
	case d.Current == nil:
	case d.Current.ClusterUID == "" || d.Current.ClusterUID != c.clusterUID:
		charge = taken(d.Current)
	case v == nil && c.removed[d.UUID] && !d.Active():
		c.sweep(h, d)
	case v == nil:
		charge = taken(d.Current)
		c.notice(h.Ref(), true, "UnknownInstance", "the domain "+d.Current.Name+
			" carries this cluster's mark and belongs to no VM; it is left alone and counts against the host's memory")
	default:
		in := v.Status.Instance
		current := in != nil && in.Host == h.Name && in.ID == d.Current.InstanceID
		if current {
			break
		}
		charge = taken(d.Current)
		switch id := d.Current.InstanceID; {
		case in != nil && in.ID == id && d.Active():
			v.MovedTo = h.Name // by somebody else; until its own host has let go of it, it is only watched
		case superseded(v, id):
			c.setLeftover(v, h.Name, true)
		case v.Quarantine != h.Name:
			v.Quarantine = h.Name
			c.notice(v.Ref(), true, "Quarantined", "instance "+d.Current.InstanceID+" on "+h.Name+
				" is not known here (was the store restored from a backup?); it is left alone, and the VM does not start elsewhere")
		}
	}
	if v != nil && v.Quarantine == h.Name && (d.Current == nil || superseded(v, d.Current.InstanceID)) {
		v.Quarantine = ""
	}
	c.charge(h, d, charge)
	c.touch(v)
}

// sweep removes the definition of a VM that was removed: a define that was stuck on its way has made it late.
func (c *Core) sweep(h *fleet.Host, d *fleet.Domain) {
	if d.InFlight != 0 || d.AskAgain.After(c.now) {
		return
	}
	c.commandID++
	d.InFlight, d.Instance, d.Asked, d.AskAgain = c.commandID, d.Current.InstanceID, int(CommandUndefine), c.now.Add(tryAgain)
	c.commands[c.commandID] = target{h.Name, d.UUID, CommandUndefine}
	c.ready.Units = append(c.ready.Units, Unit{Commands: []Command{{ID: c.commandID, Kind: CommandUndefine, Host: h.Name, Epoch: h.Epoch,
		UUID: d.UUID, Instance: d.Current.InstanceID, State: true}}})
}

func (c *Core) charge(h *fleet.Host, d *fleet.Domain, charge v1.Resources) {
	if charge == d.Charged {
		return
	}
	h.Found.Memory += charge.Memory - d.Charged.Memory
	h.Found.CPUs += charge.CPUs - d.Charged.CPUs
	d.Charged = charge
	h.Refresh(c.config.StartLimit.PerHost)
	c.retry = true
}

// taken is what a domain that is not an instance of ours takes from its host: nothing while it is shut off.
func taken(d *hypervisor.Domain) v1.Resources {
	if d.State == hypervisor.DomainInactive {
		return v1.Resources{}
	}
	return v1.Resources{Memory: d.Memory + fleet.Overhead(d.Memory, d.VCPUs), CPUs: d.VCPUs}
}

// forget drops an entry that says nothing which the newest listing does not say too.
func (c *Core) forget(h *fleet.Host, uuid string) {
	d := h.Domains[uuid]
	if d != nil && d.Current == nil && d.InFlight == 0 && h.Bound[uuid] == nil && d.Seen && d.Seq <= h.ListSeq {
		delete(h.Domains, uuid)
	}
}

func (c *Core) commandDone(ev CommandDone) {
	t, ok := c.commands[ev.ID]
	if !ok {
		return // told twice
	}
	delete(c.commands, ev.ID)
	h := c.hosts[t.host]
	if h == nil {
		return
	}
	d := h.Domains[t.uuid]
	if d == nil || d.InFlight != ev.ID {
		return
	}
	instance := d.Instance
	d.InFlight = 0
	d.Seq, d.Seen = max(d.Seq, ev.Seq-1), false
	if ev.Looked && h.Connected && ev.Epoch == h.Epoch {
		d.Seq = ev.Seq - 1
		c.sight(h, t.uuid, ev.Seq, ev.Domain)
	}
	v := c.vms[t.uuid]
	if v == nil {
		return
	}
	if in := v.Status.Instance; t.kind == CommandLaunch && in != nil && in.ID == instance {
		switch {
		case ev.Outcome == Done:
			d.Launched = true
		case ev.Outcome == Refused && !(d.Seen && d.Active() && d.Current.InstanceID == instance):
			c.abandon(v, v1.PhaseFailed, lifecycle.EndStartFailed, ev.Message)
		case ev.Outcome == Unclear && !in.Unclear:
			v.Mutable().Instance.Unclear = true
		}
	}
	c.touch(v)
}

// unsee: what the host shows must be looked at again.
func unsee(h *fleet.Host) {
	for _, uuid := range slices.Sorted(maps.Keys(h.Domains)) {
		h.Domains[uuid].Seen = false
	}
}
