// Package placement answers one question – can this VM run on that host, and if not, why – and picks among the hosts that can.
//
// It exists so that starts, describe and everything that moves VMs ask the same function and give the same reasons. It looks at
// plain values only; who holds the ledger is core/fleet's business.
package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Reason says why a host cannot take a VM: a constant for programs and metrics.
type Reason string

// The reasons, in the order in which they are reported.
const (
	ReasonHostNotUp              Reason = "HostNotUp"
	ReasonHostUnschedulable      Reason = "HostUnschedulable"
	ReasonSelectorMismatch       Reason = "HostSelectorMismatch"
	ReasonMachineTypeUnsupported Reason = "MachineTypeUnsupported"
	ReasonFirmwareUnsupported    Reason = "FirmwareUnsupported"
	ReasonStoragePoolMissing     Reason = "StoragePoolMissing"
	ReasonNetworkMissing         Reason = "NetworkMissing"
	ReasonStateIsLocal           Reason = "StateIsLocal"
	ReasonHostInsufficientMemory Reason = "HostInsufficientMemory"
	ReasonHostInsufficientCPU    Reason = "HostInsufficientCPU"
	ReasonHostStartLimit         Reason = "HostStartLimit"
)

// Requirement is all that placement wants to know of a VM. Equal requirements share a class: what one is refused for, all are.
type Requirement struct {
	// Memory and VCPUs to be promised, QEMU's overhead included.
	Memory v1.Quantity
	VCPUs  int
	// MachineType that the host must offer, alias or canonical.
	MachineType string
	UEFI        bool
	// Pools and Networks that the host must have, sorted, each once.
	Pools, Networks []string
	// Selector: labels that the host must have, "key=value", sorted.
	Selector []string
	// StateHost is the only host that has the VM's NVRAM; empty means that the VM has none yet, or needs none.
	StateHost string
}

// Class is a string that is the same for equal requirements only.
func (r *Requirement) Class() string {
	return fmt.Sprintf("%d/%d/%s/%t/%s/%s/%s/%s", r.Memory, r.VCPUs, r.MachineType, r.UEFI,
		strings.Join(r.Pools, ","), strings.Join(r.Networks, ","), strings.Join(r.Selector, ","), r.StateHost)
}

// Host is all that placement wants to know of a host.
type Host struct {
	Name          string
	Up            bool
	Unschedulable bool
	// Labels as "key=value", sorted.
	Labels []string
	// MachineTypes as in hypervisor.Facts.
	MachineTypes    map[string]string
	UEFI            bool
	Pools, Networks []string
	// FreeMemory and FreeCPUs are not promised yet; below zero when the host is found to have promised too much.
	FreeMemory v1.Quantity
	FreeCPUs   int
	// Starting instances now, and how many may be.
	Starting, StartLimit int
}

// Obstacle is one reason with its explanation.
type Obstacle struct {
	Reason Reason
	// Message is a clause for people, about this host: "has 200Mi of memory free, 1136Mi is needed".
	Message string
}

// fits is Check's yes or no, without the price of explaining: it runs for each host on each start.
func fits(r *Requirement, h *Host) bool {
	return h.Up && !h.Unschedulable && h.FreeMemory >= r.Memory && h.FreeCPUs >= r.VCPUs && h.Starting < h.StartLimit &&
		(!r.UEFI || h.UEFI) && (r.StateHost == "" || r.StateHost == h.Name) && h.MachineTypes[r.MachineType] != "" &&
		contains(h.Labels, r.Selector) && contains(h.Pools, r.Pools) && contains(h.Networks, r.Networks)
}

// contains reports whether the sorted have holds all of want.
func contains(have, want []string) bool {
	for _, w := range want {
		if _, ok := slices.BinarySearch(have, w); !ok {
			return false
		}
	}
	return true
}

func missing(have, want []string) []string {
	var out []string
	for _, w := range want {
		if _, ok := slices.BinarySearch(have, w); !ok {
			out = append(out, w)
		}
	}
	return out
}

// Check lists all that keeps the VM from the host now; none means that it can run there.
func Check(r *Requirement, h *Host) []Obstacle {
	var out []Obstacle
	add := func(reason Reason, format string, args ...any) {
		out = append(out, Obstacle{reason, fmt.Sprintf(format, args...)})
	}
	if !h.Up {
		add(ReasonHostNotUp, "is not up")
		return out // nothing else about it is known for certain
	}
	if h.Unschedulable {
		add(ReasonHostUnschedulable, "is cordoned")
	}
	if m := missing(h.Labels, r.Selector); len(m) > 0 {
		add(ReasonSelectorMismatch, "does not have the label %s", strings.Join(m, ", "))
	}
	if h.MachineTypes[r.MachineType] == "" {
		add(ReasonMachineTypeUnsupported, "its QEMU does not know the machine type %s", r.MachineType)
	}
	if r.UEFI && !h.UEFI {
		add(ReasonFirmwareUnsupported, "has no UEFI firmware for guests (Debian: package ovmf)")
	}
	if m := missing(h.Pools, r.Pools); len(m) > 0 {
		add(ReasonStoragePoolMissing, "has no active storage pool %s", strings.Join(m, ", "))
	}
	if m := missing(h.Networks, r.Networks); len(m) > 0 {
		add(ReasonNetworkMissing, "has no active network %s", strings.Join(m, ", "))
	}
	if r.StateHost != "" && r.StateHost != h.Name {
		add(ReasonStateIsLocal, "the VM's NVRAM is on %s", r.StateHost)
	}
	if h.FreeMemory < r.Memory {
		add(ReasonHostInsufficientMemory, "has %s of memory free, %s is needed", mib(h.FreeMemory), mib(r.Memory))
	}
	if h.FreeCPUs < r.VCPUs {
		add(ReasonHostInsufficientCPU, "has %d virtual CPUs free, %d are needed", max(0, h.FreeCPUs), r.VCPUs)
	}
	if h.Starting >= h.StartLimit {
		add(ReasonHostStartLimit, "is starting %d of at most %d", h.Starting, h.StartLimit)
	}
	return out
}

func mib(q v1.Quantity) string { return fmt.Sprintf("%dMi", max(0, q)>>20) }

// Choose picks the host with the most free memory among those that can take the VM, the first by name among equals; hosts are
// sorted by name. Nil means none can: Explain says why.
func Choose(r *Requirement, hosts []*Host) *Host {
	var best *Host
	for _, h := range hosts {
		if (best == nil || h.FreeMemory > best.FreeMemory) && fits(r, h) {
			best = h
		}
	}
	return best
}

// Refusal is why no host can take a VM now.
type Refusal struct {
	// Busy: at least one host could, were it not starting as many as it may.
	Busy bool
	// Kinds are the hosts' first obstacles, sorted, each once: as long as they are the same, the story is, though figures change.
	Kinds string
	// Message counts the hosts for each reason, with one of them as an example:
	// "none of 3 hosts can run it: 2 with too little memory (a has 1Mi of memory free, 512Mi is needed), 1 cordoned (c is cordoned)".
	Message string
}

// tells says a reason in as few words as a count of hosts wants: "2 with too little memory".
var tells = map[Reason]string{
	ReasonHostNotUp:              "not up",
	ReasonHostUnschedulable:      "cordoned",
	ReasonSelectorMismatch:       "without the label",
	ReasonMachineTypeUnsupported: "without the machine type",
	ReasonFirmwareUnsupported:    "without UEFI firmware",
	ReasonStoragePoolMissing:     "without the storage pool",
	ReasonNetworkMissing:         "without the network",
	ReasonStateIsLocal:           "without the VM's NVRAM",
	ReasonHostInsufficientMemory: "with too little memory",
	ReasonHostInsufficientCPU:    "with too few CPUs",
	ReasonHostStartLimit:         "starting as many as it may",
}

// Explain says why none of the hosts can take the VM. A host counts once, for its first obstacle.
func Explain(r *Requirement, hosts []*Host) Refusal {
	if len(hosts) == 0 {
		return Refusal{Kinds: "NoHosts", Message: "there are no hosts; add one with: holdfast host add NAME URI"}
	}
	type tally struct {
		reason Reason
		count  int
		sample string
	}
	var tallies []tally
	ref := Refusal{}
	for _, h := range hosts {
		obstacles := Check(r, h)
		if len(obstacles) == 0 {
			continue
		}
		first := obstacles[0]
		ref.Busy = ref.Busy || first.Reason == ReasonHostStartLimit
		i := slices.IndexFunc(tallies, func(t tally) bool { return t.reason == first.Reason })
		if i < 0 {
			tallies = append(tallies, tally{first.Reason, 1, h.Name + " " + first.Message})
		} else {
			tallies[i].count++
		}
	}
	slices.SortStableFunc(tallies, func(a, b tally) int { return cmp.Compare(b.count, a.count) })
	kinds, parts := make([]string, len(tallies)), make([]string, len(tallies))
	for i, t := range tallies {
		kinds[i] = string(t.reason)
		parts[i] = fmt.Sprintf("%d %s (%s)", t.count, tells[t.reason], t.sample)
	}
	slices.Sort(kinds)
	ref.Kinds = strings.Join(kinds, ",")
	noun := "hosts"
	if len(hosts) == 1 {
		noun = "host"
	}
	ref.Message = fmt.Sprintf("none of %d %s can run it: %s", len(hosts), noun, strings.Join(parts, ", "))
	return ref
}
