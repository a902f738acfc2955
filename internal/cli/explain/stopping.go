package explain

import (
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// stopping explains a VM whose instance is being ended on purpose.
func (s situation) stopping(i *v1.Instance) Answer {
	st := i.Stop
	a := Answer{
		State: fmt.Sprintf("Stopping on %s.", i.Host),
		Why:   fmt.Sprintf("A %s was asked for%s %s.", stopWord(st), by(st.By), human.Ago(st.At, s.now)),
	}
	after := ""
	switch st.Reason {
	case v1.StopReasonRestart:
		a.State = fmt.Sprintf("Restarting: its instance on %s is being stopped.", i.Host)
		after = "Then a new instance starts, placed anew."
	case v1.StopReasonHalted:
		a.Why = fmt.Sprintf("Its run strategy was changed to Halted %s.", human.Ago(st.At, s.now))
	case v1.StopReasonStop:
		switch {
		case s.vm.Spec.EffectiveRunStrategy() == v1.RunOnce && !i.RunningAt.IsZero():
			after = "Then it is over: its run strategy is Once, and this was its one run."
		case WantedOn(s.vm):
			after = "Then a new instance starts: it was started again since."
		}
	}
	a.Next = join(s.howItEnds(i), after)
	return a
}

// howItEnds says what ends the instance, when, and how to have it sooner.
func (s situation) howItEnds(i *v1.Instance) string {
	switch {
	case i.Stop.Force:
		return "It is being switched off now, without asking the guest."
	case i.Phase == v1.PhaseScheduled || i.Phase == v1.PhaseLaunching:
		return "It has not run yet: it is removed from the host as soon as what the host does with it is known."
	}
	verb := "stop"
	switch i.Stop.Reason {
	case v1.StopReasonRestart:
		verb = "restart"
	case v1.StopReasonDelete:
		verb = "delete vm"
	}
	return fmt.Sprintf("The guest has been asked to shut itself down. If it has not done so, it is switched off %s; %s does it now.",
		human.In(i.Stop.Deadline, s.now), command(verb, s.vm, "--force"))
}

// terminating explains a VM that is being deleted.
func (s situation) terminating() Answer {
	asked := human.Ago(*s.vm.Metadata.DeletionTimestamp, s.now)
	a := Answer{State: "Terminating.", Why: fmt.Sprintf("Its deletion was asked for %s.", asked)}
	const disks = "Its disks are not touched."
	i := s.vm.Status.Instance
	switch {
	case i != nil && s.hosts.unreachable(i.Host):
		a.Why = join(a.Why, "It runs or ran on "+i.Host+".", s.silence(i.Host))
		a.Next = "It is stopped and removed as soon as that host answers. " + disks
	case i != nil && i.Abandon != nil:
		a.Why = join(a.Why, fmt.Sprintf("A launch on %s that failed is being cleaned up.", i.Host))
		a.Next = "It is gone as soon as it is certain that nothing of it runs there. " + disks
	case i != nil && i.Stop != nil:
		a.Next = join(s.howItEnds(i), "Then it is removed.", disks)
	case i != nil:
		a.Next = fmt.Sprintf("Its instance on %s is stopped first, then it is removed. %s", i.Host, disks)
	case len(s.vm.Status.Leftovers) > 0:
		left := s.vm.Status.Leftovers
		a.Why = join(a.Why, fmt.Sprintf("A definition of it may remain on %s.", hostList(left, s.hosts)))
		a.Next = "It is removed as soon as every one of them has been looked at and cleaned. " + disks
	case s.vm.Status.Waiting != nil:
		a.Why = join(a.Why, sentence(s.vm.Status.Waiting.Message))
		a.Next = "It is gone as soon as that has passed. " + disks
	default:
		a.Next = "Nothing of it is left on any host: it is gone the next time the control plane looks. " + disks
	}
	return a
}

// hostList is "a (out of reach) and b".
func hostList(names []string, hosts Hosts) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = n
		if hosts.unreachable(n) {
			parts[i] += " (out of reach)"
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func stopWord(st *v1.StopRequest) string {
	word := map[string]string{v1.StopReasonRestart: "restart", v1.StopReasonDelete: "deletion"}[st.Reason]
	if word == "" {
		word = "stop"
	}
	if st.Force {
		return "forced " + word
	}
	return word
}
