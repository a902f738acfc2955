package invariant

import (
	"cmp"
	"math"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// known is how long a domain of somebody else's must have run, on a host left alone, before Holdfast must have counted it. A
// production resync lists every domain each minute.
const known = 3 * time.Minute

// NoOvercommit adds up what each host has promised, by the statuses, whenever a status adds to it; and what really runs there,
// whenever a call of ours starts something. A host whose capacity is not on record yet is not judged.
var NoOvercommit = Check{
	Name: "NoOvercommit",
	Says: "no decision of ours raises what a host has promised above its limit",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				s, was := m.status(), m.previous()
				if s.Instance == nil || was != nil && was.Instance != nil && was.Instance.ID == s.Instance.ID && was.Instance.Host == s.Instance.Host {
					continue
				}
				if s.Instance.Memory < m.templateOf(s.Instance.Generation).Memory {
					complain(m.uid, "host %s promised instance %s %s, less than its guest's memory", s.Instance.Host, s.Instance.ID, s.Instance.Memory)
				}
				promised, limit := w.promised(s.Instance.Host), w.limit(s.Instance.Host)
				if limit.Memory > 0 && (promised.Memory > limit.Memory || promised.CPUs > limit.CPUs) {
					complain(m.uid, "instance %s raises what host %s has promised to %s and %d CPUs, above its limit of %s and %d",
						s.Instance.ID, s.Instance.Host, promised.Memory, promised.CPUs, limit.Memory, limit.CPUs)
				}
			}
			d, ok := e.Fact.(Domain)
			if !ok || !d.Active() || d.By != ByCall || w.before != nil && w.before.Active() {
				return
			}
			if running, limit := w.running(d), w.limit(d.Host); limit.Memory > 0 && running > limit.Memory {
				complain(d.UUID, "with instance %s %s of memory run on host %s, above its limit of %s", d.Instance, running, d.Host, limit.Memory)
			}
		}
	},
}

func (m *vm) templateOf(generation int64) *v1.Template {
	for _, s := range m.specs {
		if s.value.Metadata.Generation == generation {
			return &s.value.Spec.Template
		}
	}
	return &v1.Template{}
}

func (w *world) promised(host string) (sum v1.Resources) {
	for _, m := range w.vms {
		if s := m.status(); s != nil && !m.gone && s.Instance != nil && s.Instance.Host == host {
			sum.Memory += s.Instance.Memory
			sum.CPUs += s.Instance.VCPUs
		}
	}
	return sum
}

func (w *world) limit(host string) v1.Resources {
	h := w.host(host)
	over := cmp.Or(h.spec.CPUOvercommit, 4)
	return v1.Resources{
		Memory: h.status.Capacity.Memory - h.spec.Reserved.Memory,
		CPUs:   int(math.Floor(float64(h.status.Capacity.CPUs-h.spec.Reserved.CPUs) * over)),
	}
}

// running is the memory of what runs on the host of d, without foreign domains that Holdfast need not know of yet.
func (w *world) running(d Domain) (sum v1.Quantity) {
	decided := time.Time{}
	if in := w.instance(d.UUID, d.Instance); in != nil {
		decided = in.created.at
	}
	for p, other := range w.domains {
		if p.host != d.Host || !other.Active() {
			continue
		}
		foreign := other.Instance == "" || other.byOutsider
		if foreign && (decided.Sub(other.since) < known || decided.Sub(w.host(d.Host).fault) < known) {
			continue
		}
		sum += other.Memory
	}
	return sum
}

// The defaults of the limits on starting.
const (
	defaultClusterLimit = 100
	defaultHostLimit    = 4
)

// StartLimits counts instances that do not run yet, by the statuses, whenever one is made: that is when it gets its slot. One on a
// host that is out of reach does not count for the cluster; nor does one on a host whose state the same commit changes, because a
// commit holds many decisions and does not show their order.
var StartLimits = Check{
	Name: "StartLimits",
	Says: "no decision of ours raises how many instances are starting above the limits of cluster and host",
	begin: func() judge {
		return func(w *world, e Entry, complain complaint) {
			for _, m := range w.changed {
				if in := m.newInstance(); in == nil || in.created.value.Instance.Phase == v1.PhaseRunning {
					continue
				}
				host := m.status().Instance.Host
				onHost, inCluster := w.starting(host, e.Rev)
				hostLimit := cmp.Or(w.host(host).spec.StartLimit, w.config.StartLimit.PerHost, defaultHostLimit)
				if onHost > hostLimit {
					complain(m.uid, "%d instances are starting on host %s, its limit is %d", onHost, host, hostLimit)
				}
				if limit := cmp.Or(w.config.StartLimit.Cluster, defaultClusterLimit); inCluster > limit {
					complain(m.uid, "%d instances are starting in the cluster, the limit is %d", inCluster, limit)
				}
			}
		}
	},
}

// starting counts the instances that have a slot on the host, and those that have one in the cluster for certain at the revision.
func (w *world) starting(host string, rev int64) (onHost, inCluster int) {
	for _, m := range w.vms {
		s := m.status()
		if m.gone || s == nil || s.Instance == nil || s.Instance.Phase == v1.PhaseRunning {
			continue
		}
		if s.Instance.Host == host {
			onHost++
		}
		if h := w.host(s.Instance.Host); h.status.State == v1.HostUp && h.rev < rev {
			inCluster++
		}
	}
	return onHost, inCluster
}
