package explain

import (
	"fmt"
	"slices"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// What the run strategy says about a VM that runs or is about to: why it is on, for how long, and what follows.

// WantedOn reports whether the VM should have an instance, by its run strategy and by what the control plane has written down.
func WantedOn(vm *v1.VirtualMachine) bool {
	st := &vm.Status
	if st.Hold != nil {
		return false
	}
	switch vm.Spec.EffectiveRunStrategy() {
	case v1.RunAlways:
		return true
	case v1.RunRerunOnFailure:
		return st.Finished == nil
	case v1.RunManual, v1.RunOnce:
		return st.Run != nil
	}
	return false
}

// whyOn says why a running VM runs.
func (s situation) whyOn() string {
	strategy := s.vm.Spec.EffectiveRunStrategy()
	switch run := s.vm.Status.Run; {
	case strategy == v1.RunManual && run != nil:
		return fmt.Sprintf("Its run strategy is Manual, and it was started%s %s.", by(run.By), human.Ago(run.At, s.now))
	case strategy == v1.RunManual:
		return "Its run strategy is Manual, and it was started."
	case strategy == v1.RunOnce:
		return "Its run strategy is Once, and this is its one run."
	}
	return fmt.Sprintf("Its run strategy is %s.", strategy)
}

// howLong says until when a running VM runs, and what follows.
func (s situation) howLong() string {
	stop := command("stop", s.vm)
	switch s.vm.Spec.EffectiveRunStrategy() {
	case v1.RunRerunOnFailure:
		return fmt.Sprintf("It stays on until the guest shuts itself down or somebody stops it: %s. After a failure a new instance follows.", stop)
	case v1.RunManual:
		return fmt.Sprintf("It stays on until the guest shuts itself down or somebody stops it: %s.", stop)
	case v1.RunOnce:
		return fmt.Sprintf("It stays on until the guest ends, however it does, or somebody stops it: %s. Then it is over, and not started again.", stop)
	case v1.RunHalted:
		return "The guest is asked to shut itself down as soon as the control plane has taken that up, usually at once."
	}
	return "It stays on. When the instance ends, however it does, a new one follows."
}

// restartRequired reports whether the machine that runs is another than the manifest's.
func (s situation) restartRequired() bool {
	return slices.ContainsFunc(s.vm.Status.Conditions, func(c v1.Condition) bool {
		return c.Type == conditionRestartRequired && c.Status == v1.ConditionTrue
	})
}

// whenEditApplies says what becomes of an edit of a VM that runs.
func (s situation) whenEditApplies() string {
	if s.vm.Spec.EffectiveRunStrategy() == v1.RunOnce {
		return "The machine in its manifest has changed since it started, which changes nothing any more: no other instance follows."
	}
	return fmt.Sprintf("The machine in its manifest has changed since it started; that applies to the next instance (%s).",
		command("restart", s.vm))
}

// onlyRun is what to know about a Once VM that has not run yet; empty for any other.
func (s situation) onlyRun() string {
	if s.vm.Spec.EffectiveRunStrategy() != v1.RunOnce {
		return ""
	}
	return "Its run strategy is Once: the first start that works is its one run."
}

// afterFailedLaunch is what follows when the launch under way fails, as the rest of a sentence.
func (s situation) afterFailedLaunch() string {
	if s.vm.Spec.EffectiveRunStrategy() == v1.RunManual {
		return "it stays off, because its run strategy is Manual"
	}
	return "another follows after a delay"
}
