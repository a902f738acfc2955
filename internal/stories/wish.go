package stories

import (
	"fmt"
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Unhappy lists the VMs that are not as their owner wants, by what users asked for in the order in which it became durable, and
// what really runs. A VM that waits for room is as happy as can be, if there is none.
func (w *World) Unhappy() []string {
	var out []string
	vms, _, err := w.Registry.ListVMs(w.ctx, "")
	if err != nil {
		return []string{err.Error()}
	}
	actions, _, err := w.Registry.ListActions(w.ctx, "")
	if err != nil {
		return []string{err.Error()}
	}
	slices.SortFunc(actions, func(a, b *v1.Action) int { return a.Status.At.Compare(b.Status.At) })
	known := map[string]bool{}
	for _, vm := range vms {
		known[vm.Metadata.UID] = true
		running := w.running(vm.Metadata.UID)
		wish := wishOf(vm, actions)
		say := func(what string) {
			out = append(out, fmt.Sprintf("VM %s (%s, %s) %s; it runs %d times, its status is %s", vm.Metadata.Name, vm.Spec.RunStrategy,
				vm.Metadata.UID, what, running, vm.Status.PrintableStatus))
		}
		switch {
		case vm.Metadata.DeletionTimestamp != nil:
			say("was to be deleted and is still there")
		case wish == wantOn && running != 1 && !w.noRoom(vm):
			say("should run")
		case wish == wantOff && running != 0:
			say("should be off")
		}
	}
	for _, h := range w.Fleet.Hosts() {
		for _, d := range h.Domains() {
			if d.ClusterUID != "" && !known[d.VMUID] {
				out = append(out, fmt.Sprintf("host %s has domain %s (%s) of a VM that does not exist", h.Name(), d.Name, d.State))
			}
		}
	}
	return out
}

func (w *World) running(uid string) (n int) {
	for _, h := range w.Fleet.Hosts() {
		for _, d := range h.Domains() {
			if d.UUID == uid && d.State != hypervisor.DomainInactive {
				n++
			}
		}
	}
	return n
}

type wish int

const (
	wantEither wish = iota
	wantOn
	wantOff
)

// wishOf is what the owner of a VM wants at the end. A Manual VM that was started may run or have ended by itself since. What a stop
// of a VM that was Manual at the time means for one that is Always now is not judged.
func wishOf(vm *v1.VirtualMachine, actions []*v1.Action) wish {
	last, edited := v1.ActionType(""), false
	for _, a := range actions {
		if a.Spec.VMUID != vm.Metadata.UID || a.Status.Phase == v1.ActionRefused {
			continue
		}
		if a.Spec.Type == v1.ActionRestart && last == v1.ActionStop {
			continue // the VM was Halted or Manual then: a restart lifts no hold
		}
		last = a.Spec.Type
	}
	edited = vm.Metadata.Generation > 1
	switch {
	case vm.Spec.RunStrategy == v1.RunHalted:
		return wantOff
	case vm.Spec.RunStrategy == v1.RunAlways && last != v1.ActionStop:
		return wantOn
	case vm.Spec.RunStrategy == v1.RunAlways && !edited:
		return wantOff
	case vm.Spec.RunStrategy == v1.RunManual && last == v1.ActionStop:
		return wantOff
	case vm.Spec.RunStrategy == v1.RunManual && last == "" && !edited:
		return wantOff
	}
	return wantEither
}

// noRoom: the VM says that it waits for room, and no host has as much as its guest's memory left.
func (w *World) noRoom(vm *v1.VirtualMachine) bool {
	if vm.Status.PrintableStatus != v1.PrintableUnschedulable {
		return false
	}
	// QEMU's overhead is the core's to say: a quarter and 512Mi more than the guest's memory would be room beyond doubt.
	beyondDoubt := vm.Spec.Template.Memory*5/4 + 512<<20
	for _, h := range w.Fleet.Hosts() {
		free := w.setting.Memory
		for _, d := range h.Domains() {
			free -= d.Memory * 5 / 4
		}
		if free >= beyondDoubt {
			return false
		}
	}
	return true
}
