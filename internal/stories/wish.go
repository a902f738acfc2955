package stories

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	slices.SortFunc(actions, func(a, b *v1.Action) int { return cmp.Compare(turn(a), turn(b)) })
	known, asked := map[string]bool{}, w.rec.asked()
	for _, vm := range vms {
		known[vm.Metadata.UID] = true
		running := w.running(vm.Metadata.UID)
		wish := wishOf(vm, actions, asked, w.rec.fate(vm.Metadata.UID))
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
			// A define that was stuck until after its VM was removed leaves a definition that stays off.
			if d.ClusterUID != "" && !known[d.VMUID] && (d.State != hypervisor.DomainInactive || !w.rec.definedLate(d.VMUID)) {
				out = append(out, fmt.Sprintf("host %s has domain %s (%s) of a VM that does not exist", h.Name(), d.Name, d.State))
			}
		}
	}
	return out
}

// turn is the how-manyth action of the story it is: the number in its id.
func turn(a *v1.Action) int {
	_, n, _ := strings.Cut(a.Metadata.Name, "-")
	turn, _ := strconv.Atoi(n)
	return turn
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

// wishOf is what the owner of a VM wants at the end. asked has the revision of each newest spec and each action, by uid. A Manual VM
// that was started may run or have ended by itself since, and so may a Once VM whose guest has run, and a RerunOnFailure VM whose newest
// guest has ended well: whether that was its host's doing is EndsToldApart's to judge, and what follows CleanEndStays's. A stop from before the last edit is not judged: what it means depends on what the VM was then.
func wishOf(vm *v1.VirtualMachine, actions []*v1.Action, asked map[string]int64, guests fate) wish {
	last, before := v1.ActionType(""), v1.ActionType("")
	for _, a := range actions {
		switch {
		case a.Spec.VMUID != vm.Metadata.UID || a.Status.Phase == v1.ActionRefused:
		case asked[a.Metadata.UID] > asked[vm.Metadata.UID]:
			last = a.Spec.Type
		default:
			before = a.Spec.Type
		}
	}
	edited := vm.Metadata.Generation > 1
	switch vm.Spec.RunStrategy {
	case v1.RunRerunOnFailure:
		switch {
		case last == v1.ActionStop:
			return wantOff
		case !guests.endedWell && (last != "" || before != v1.ActionStop):
			return wantOn
		}
	case v1.RunOnce:
		switch {
		case last == v1.ActionStop:
			return wantOff
		case !guests.ran && !edited && !lostWithHost(vm):
			return wantOn
		}
	case v1.RunHalted:
		return wantOff
	case v1.RunManual:
		if last == v1.ActionStop || last == "" && before == "" && !edited {
			return wantOff
		}
	case v1.RunAlways:
		switch {
		case last == v1.ActionStop:
			return wantOff
		case last != "" || before != v1.ActionStop:
			return wantOn
		}
	}
	return wantEither
}

// lostWithHost: the last instance went down with its host. If that was during its launch, nobody knows whether the guest ran.
func lostWithHost(vm *v1.VirtualMachine) bool {
	h := vm.Status.History
	return len(h) > 0 && (h[0].Reason == "HostLost" || h[0].Reason == "HostDown" || h[0].Reason == "EndUnknown")
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
