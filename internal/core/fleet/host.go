package fleet

import (
	"maps"
	"math"
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/placement"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// DefaultCPUOvercommit is how many virtual CPUs are promised for each of a host's, when its spec does not say.
const DefaultCPUOvercommit = 4.0

// Host is what the core keeps of a host.
type Host struct {
	Name, UID string
	Spec      v1.HostSpec
	Status    v1.HostStatus

	// Connected: libvirt answers, on the connection of Epoch. Refused hosts are connected and not used.
	Connected bool
	Epoch     int64
	// Silent: in this term it has been asked and has not answered for long enough to be called unreachable.
	Silent bool
	Facts  hypervisor.Facts
	// ListSeq is the Seq of the newest listing: a UUID that is not in Domains was absent then.
	ListSeq int64
	// Domains that the host shows or that a VM here is concerned with, by UUID.
	Domains map[string]*Domain
	// Bound are the VMs that have their instance or a leftover here, by uid.
	Bound map[string]*VM

	// Promised to instances, and Found: what domains take that are not instances of ours.
	Promised, Found v1.Resources
	// View is the host as placement sees it.
	View placement.Host
}

// NewHost digests a host with its status. It is not connected yet.
func NewHost(o *v1.Host) *Host {
	h := &Host{Name: o.Metadata.Name, Domains: map[string]*Domain{}, Bound: map[string]*VM{}, Status: o.Status}
	h.Digest(o)
	return h
}

// Digest takes over the spec and labels of o.
func (h *Host) Digest(o *v1.Host) {
	h.UID, h.Spec = o.Metadata.UID, o.Spec
	h.View.Name, h.View.Labels = h.Name, Labels(o.Metadata.Labels)
}

// Usable: commands may be sent and instances placed.
func (h *Host) Usable() bool { return h.Connected && h.Status.State == v1.HostUp }

// Refresh brings View up to date; perHost is the cluster's start limit for each host.
func (h *Host) Refresh(perHost int) {
	over := h.Spec.CPUOvercommit
	if over == 0 {
		over = DefaultCPUOvercommit
	}
	v := &h.View
	v.Up, v.Unschedulable = h.Usable(), h.Spec.Unschedulable
	v.MachineTypes, v.UEFI, v.Pools, v.Networks = h.Facts.MachineTypes, h.Facts.UEFI, h.Facts.Pools, h.Facts.Networks
	v.FreeMemory = h.Facts.Memory - h.Spec.Reserved.Memory - h.Promised.Memory - h.Found.Memory
	v.FreeCPUs = int(math.Floor(float64(h.Facts.CPUs-h.Spec.Reserved.CPUs)*over)) - h.Promised.CPUs - h.Found.CPUs
	v.StartLimit = perHost
	if h.Spec.StartLimit > 0 {
		v.StartLimit = h.Spec.StartLimit
	}
}

// Promise enters an instance into the ledger; Release gives it back.
func (h *Host) Promise(in *v1.Instance) {
	h.Promised.Memory += in.Memory
	h.Promised.CPUs += in.VCPUs
	h.View.FreeMemory -= in.Memory
	h.View.FreeCPUs -= in.VCPUs
}

// Release gives back what Promise entered.
func (h *Host) Release(in *v1.Instance) {
	h.Promised.Memory -= in.Memory
	h.Promised.CPUs -= in.VCPUs
	h.View.FreeMemory += in.Memory
	h.View.FreeCPUs += in.VCPUs
}

// Rebooted reports whether the host has been booted since its newest connection before. The uptime is an estimate that may be
// short, so it counts only when it is clearly less than it would be, and less than the time since then.
func (h *Host) Rebooted(facts *hypervisor.Facts, now time.Time) bool {
	old := &h.Status
	switch {
	case old.ConnectedAt.IsZero():
		return false
	case old.BootID != "" && facts.BootID != "":
		return old.BootID != facts.BootID
	case old.Uptime == 0 || facts.Uptime == 0:
		return false
	}
	elapsed := now.Sub(old.ConnectedAt)
	return facts.Uptime <= elapsed && facts.Uptime < old.Uptime.Std()+elapsed*9/10-30*time.Second
}

// DiedWith reports whether the instance ran here before the host's newest boot.
func (h *Host) DiedWith(in *v1.Instance) bool {
	return !in.RunningAt.IsZero() && in.RunningAt.Before(h.Status.RebootedAt)
}

// Ref names the host in notices.
func (h *Host) Ref() v1.ObjectRef { return v1.ObjectRef{Kind: v1.KindHost, Name: h.Name, UID: h.UID} }

// BoundVMs lists Bound by uid.
func (h *Host) BoundVMs() []*VM {
	out := make([]*VM, 0, len(h.Bound))
	for _, uid := range slices.Sorted(maps.Keys(h.Bound)) {
		out = append(out, h.Bound[uid])
	}
	return out
}

// Domain is one UUID on one host: what was seen of it last, and the command that is in flight for it.
type Domain struct {
	UUID string
	// Seq of the newest sighting or result; older ones are ignored.
	Seq int64
	// Seen: Current is what the present connection shows. False: it must be looked at again.
	Seen bool
	// Current is the domain; nil means the host has none.
	Current *hypervisor.Domain
	// Ended is what a live event told of the last end; a launch clears it.
	Ended string
	// Absences counts sightings of nothing in a row since a command last might have made something.
	Absences int
	// Launched: in this term the host answered that the current instance was created.
	Launched bool
	// InFlight is the id of the command that has not come back; zero means none.
	InFlight uint64
	// Instance that the command in flight is for.
	Instance string
	// Asked is the kind of the newest command that was more than a look; it is not repeated before AskAgain.
	Asked    int
	AskAgain time.Time
	// LookAgain is when the domain may be looked at again.
	LookAgain time.Time
	// Charged is what Found includes for this domain.
	Charged v1.Resources
}

// Active: the domain exists and is not shut off.
func (d *Domain) Active() bool {
	return d.Current != nil && d.Current.State != hypervisor.DomainInactive
}

// Domain returns the entry for a UUID, making one that says "absent as of the newest listing".
func (h *Host) Domain(uuid string) *Domain {
	d := h.Domains[uuid]
	if d == nil {
		d = &Domain{UUID: uuid, Seq: h.ListSeq, Seen: h.Connected, Absences: 1}
		h.Domains[uuid] = d
	}
	return d
}
