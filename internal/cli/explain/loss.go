package explain

import (
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// What becomes of VMs when somebody vouches for their host being down: said before, so that nobody has to guess.

// lastGasp is how long before a host is lost its guests' clean ends are taken for its doing, as the control plane does.
const lastGasp = time.Minute

// Loss says what becomes of a VM when its host is confirmed to be down.
type Loss struct {
	// Starts: a new instance starts, on any host with room.
	Starts bool
	// Why it does, or does not.
	Why string
}

// AfterLoss says so of a VM that has or had something on the host; false: the host's loss changes nothing for it.
func AfterLoss(vm *v1.VirtualMachine, h *v1.Host) (Loss, bool) {
	in := vm.Status.Instance
	if in == nil || in.Host != h.Metadata.Name {
		return afterLastGasp(vm, h)
	}
	strategy := vm.Spec.EffectiveRunStrategy()
	switch {
	case vm.Metadata.DeletionTimestamp != nil:
		return Loss{Why: "it is being deleted"}, true
	case vm.Status.Hold != nil:
		return Loss{Why: "it is held off by a stop"}, true
	case in.Stop != nil && in.Stop.Reason == v1.StopReasonRestart && strategy != v1.RunOnce && strategy != v1.RunHalted:
		return Loss{Starts: true, Why: "it was being restarted"}, true
	case strategy == v1.RunAlways, strategy == v1.RunRerunOnFailure:
		return Loss{Starts: true, Why: fmt.Sprintf("its run strategy is %s", strategy)}, true
	}
	return Loss{Why: fmt.Sprintf("its run strategy is %s", strategy)}, true
}

// afterLastGasp is about a guest that ended cleanly just before its host was lost: the host's doing, then.
func afterLastGasp(vm *v1.VirtualMachine, h *v1.Host) (Loss, bool) {
	st, lost := &vm.Status, h.Status.LostAt
	if st.Instance != nil || st.Hold != nil || st.Finished == nil || len(st.History) == 0 || lost.IsZero() ||
		vm.Metadata.DeletionTimestamp != nil || vm.Spec.EffectiveRunStrategy() != v1.RunRerunOnFailure {
		return Loss{}, false
	}
	e := st.History[0]
	clean := e.Reason == "GuestShutdown" || e.Reason == "EndedByOutsider"
	if !clean || e.Host != h.Metadata.Name || e.EndedAt.Before(lost.Add(-lastGasp)) || e.EndedAt.After(lost) {
		return Loss{}, false
	}
	return Loss{Starts: true, Why: "it ended while the host was going down"}, true
}
