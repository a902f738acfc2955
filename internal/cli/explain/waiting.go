package explain

import (
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// waiting explains a VM that should run and has no instance.
func (s situation) waiting(w *v1.Waiting) Answer {
	a := s.waitingFor(w)
	a.Next = join(a.Next, s.onlyRun())
	return a
}

func (s situation) waitingFor(w *v1.Waiting) Answer {
	since := human.Ago(w.Since, s.now)
	why := orElse(sentence(w.Message), fmt.Sprintf("The control plane gives the reason %q.", w.Reason))
	stop := fmt.Sprintf("%s takes it out.", command("stop", s.vm))
	switch w.Reason {
	case waitStartLimit:
		return Answer{State: fmt.Sprintf("Waiting in the start queue since %s.", since), Why: why,
			Next: "It starts as soon as one of the starts under way is over. " + stop}
	case waitUnschedulable:
		return s.unschedulable(why, since)
	case waitBackOff:
		return s.backOff(why)
	default:
		return Answer{State: fmt.Sprintf("Waiting (%s) since %s.", w.Reason, since), Why: why,
			Next: "It starts as soon as that has passed. " + stop}
	}
}

func (s situation) unschedulable(why, since string) Answer {
	a := Answer{State: fmt.Sprintf("Unschedulable since %s: no host can take it.", since), Why: why}
	if s.hosts != nil && len(s.hosts) == 0 {
		a.Next = "It starts as soon as there is one that can take it."
		return a
	}
	a.Next = "It is tried again the moment a host is added, uncordoned, answers again or has room. " +
		`"holdfast get hosts" shows which are there.`
	return a
}

func (s situation) backOff(why string) Answer {
	c := s.vm.Status.CrashLoop
	if c == nil {
		return Answer{State: "Waiting after failures.", Why: why, Next: "It is tried again after its delay."}
	}
	f := c.LastFailure
	return Answer{
		State: fmt.Sprintf("Backing off after %s.", failures(c.ConsecutiveFailures)),
		Why:   fmt.Sprintf("The last one was %s on %s: %s", human.Ago(f.EndedAt, s.now), f.Host, ended(f)),
		Next: fmt.Sprintf("It is tried again %s. %s tries at once, and %s gives up.",
			human.In(c.RetryAt, s.now), command("start", s.vm), command("stop", s.vm)),
	}
}

// failures is "1 failure", "5 failures in a row".
func failures(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures in a row", n)
}
