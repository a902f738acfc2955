// Package fleet holds the core's tables: VMs, hosts, what each host shows, and the ledger of what each has promised.
//
// It exists so that the rules (core, lifecycle, placement) read one consistent picture. Nothing here decides.
package fleet

import (
	"slices"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/placement"
)

// VM is what the core keeps of a VM: a digest of its spec, and its status.
type VM struct {
	Namespace, Name, UID string
	Generation           int64
	Strategy             v1.RunStrategy
	// Deleted: a user asked for deletion; Force: without asking the guest.
	Deleted, DeleteForce bool
	// Need is what a host must offer; class its placement class, empty until somebody asks for it.
	Need  placement.Requirement
	class string
	// KeepsState: the VM's NVRAM is a file of the host that only its libvirt can remove, through the definition; so that stays
	// while the VM is off.
	KeepsState bool
	// CPUModel that the template names; empty: the cluster's baseline.
	CPUModel string
	// Template of the spec, and Built: the one that the instance is built from; nil when that is not known.
	Template, Built *v1.Template
	// StartTimeout and StopGrace of the spec; zero: the cluster's default.
	StartTimeout, StopGrace time.Duration
	// OldestRevision is the oldest generation whose spec the store keeps besides the current one; zero means none.
	OldestRevision int64

	// Status as decided. It is frozen once it was handed out: Mutable thaws a copy.
	Status *v1.VirtualMachineStatus
	frozen bool

	// MovedTo is a host that shows the current instance active although it is bound to another: somebody moved it. Empty: none.
	MovedTo string
	// Quarantine is the host that runs an instance of the VM which Holdfast does not know; empty means none.
	Quarantine string
	// InSlot: the instance counts as starting, in the cluster too when InClusterSlot.
	InSlot, InClusterSlot bool
	// Deadline is when time alone changes something; zero means never. Scheduled is the one that was entered last.
	Deadline, Scheduled time.Time
	// Todo: on the core's list of VMs to decide. Fresh: put into the start queue in this Step, outcome open.
	Todo, Fresh bool
	// Label is the story of its waiting that it was told last; empty: none in this term.
	Label string
	// Freed: its instance has ended, and no unit has told so yet.
	Freed bool
}

// NewVM digests a VM with its status.
func NewVM(o *v1.VirtualMachine) *VM {
	v := &VM{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, UID: o.Metadata.UID}
	st := o.Status
	v.Status = &st
	v.Digest(o)
	if in := st.Instance; in != nil && in.Generation == v.Generation {
		v.Built = v.Template
	}
	return v
}

// Digest takes over the spec of o.
func (v *VM) Digest(o *v1.VirtualMachine) {
	t := &o.Spec.Template
	v.Generation, v.Template = o.Metadata.Generation, t
	v.Strategy = o.Spec.EffectiveRunStrategy()
	v.Deleted, v.DeleteForce = o.Metadata.DeletionTimestamp != nil, o.Metadata.DeletionForce
	v.StartTimeout, v.StopGrace = o.Spec.StartTimeout.Std(), o.Spec.StopGracePeriod.Std()
	v.CPUModel = t.CPU.Model
	v.KeepsState = t.Firmware.Type == v1.FirmwareUEFI

	n := placement.Requirement{
		Memory:      t.Memory + Overhead(t.Memory, t.CPU.VCPUs()),
		VCPUs:       t.CPU.VCPUs(),
		MachineType: t.Machine.Type,
		UEFI:        t.Firmware.Type == v1.FirmwareUEFI,
	}
	if n.MachineType == "" {
		n.MachineType = "q35"
	}
	for _, d := range t.Disks {
		n.Pools = add(n.Pools, d.Pool)
	}
	for _, d := range t.CDROMs {
		n.Pools = add(n.Pools, d.Pool)
	}
	if t.CloudInit != nil {
		n.Pools = add(n.Pools, t.CloudInit.Pool)
	}
	for _, nic := range t.NICs {
		n.Networks = add(n.Networks, nic.Network)
	}
	n.Selector = Labels(o.Spec.Placement.HostSelector)
	v.Need, v.class = n, ""
	v.Refine()
}

// Refine completes Need with what the status knows: the machine type that was resolved, the host that has the NVRAM.
func (v *VM) Refine() {
	before := v.Need
	if v.Status.MachineAlias == v.Need.MachineType && v.Status.MachineType != "" {
		v.Need.MachineType = v.Status.MachineType
	}
	v.Need.StateHost = ""
	if v.Need.UEFI && len(v.Status.Leftovers) > 0 {
		v.Need.StateHost = v.Status.Leftovers[0]
	}
	if v.Need.MachineType != before.MachineType || v.Need.StateHost != before.StateHost {
		v.class = ""
	}
}

// Class is Need's placement class.
func (v *VM) Class() string {
	if v.class == "" {
		v.class = v.Need.Class()
	}
	return v.class
}

// Ref names the VM in notices.
func (v *VM) Ref() v1.ObjectRef {
	return v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: v.Namespace, Name: v.Name, UID: v.UID}
}

// Mutable returns the status for changing: a copy when the present one was handed out.
func (v *VM) Mutable() *v1.VirtualMachineStatus {
	if v.frozen {
		st := *v.Status
		if st.Instance != nil {
			in := *st.Instance
			st.Instance = &in
		}
		v.Status, v.frozen = &st, false
	}
	return v.Status
}

// Changed reports whether the status has been changed since it was last handed out.
func (v *VM) Changed() bool { return !v.frozen }

// Freeze hands the status out: it is never changed again.
func (v *VM) Freeze() *v1.VirtualMachineStatus {
	v.frozen = true
	return v.Status
}

// Overhead is the memory that QEMU takes besides the guest's: 128 MiB for its code, heap and device buffers, 8 MiB for each
// virtual CPU's stack and caches, and 1/512 of the guest's memory for page tables (8 bytes for each 4 KiB page). The fixed parts
// are on the safe side of what the lab measures (docs/lab.md).
func Overhead(memory v1.Quantity, vcpus int) v1.Quantity {
	return 128<<20 + v1.Quantity(vcpus)*8<<20 + memory/512
}

// Labels as sorted "key=value".
func Labels(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k, v := range m { // any order: sorted below
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// add inserts into a sorted list without repeats; the empty string is ignored.
func add(list []string, s string) []string {
	i, found := slices.BinarySearch(list, s)
	if found || s == "" {
		return list
	}
	return slices.Insert(list, i, s)
}
