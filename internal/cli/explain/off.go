package explain

import (
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// off explains a VM without an instance that does not wait for one.
func (s situation) off() Answer {
	vm, st := s.vm, &s.vm.Status
	last := s.lastEnd()
	start := command("start", vm)
	switch strategy := vm.Spec.EffectiveRunStrategy(); {
	case strategy == v1.RunOnce && st.Finished != nil:
		return Answer{State: "Stopped: it has had its one run.", Why: join(last, "Its run strategy is Once."),
			Next: fmt.Sprintf("It stays off, and a start is refused, until its run strategy is another: %s runs it again.",
				command("start", vm, "--run-strategy", "Manual"))}
	case st.Hold != nil:
		why := fmt.Sprintf("It was stopped%s %s, and the hold that this put on it keeps it off, whatever its run strategy (%s).",
			by(st.Hold.By), human.Ago(st.Hold.At, s.now), strategy)
		return Answer{State: "Stopped.", Why: join(why, last),
			Next: fmt.Sprintf("It stays off until somebody starts it: %s lifts the hold.", start)}
	case strategy == v1.RunHalted:
		return Answer{State: "Stopped.", Why: join("Its run strategy is Halted.", last),
			Next: fmt.Sprintf("It stays off, and a start is refused, until its run strategy is another: %s sets it and starts.",
				command("start", vm, "--run-strategy", "Always"))}
	case WantedOn(vm):
		return Answer{State: "Stopped, but wanted on.", Why: join(fmt.Sprintf("Its run strategy is %s, and it has no instance yet.", strategy), last),
			Next: "The control plane decides on it the next time it looks, usually at once."}
	default:
		return Answer{State: "Stopped.", Why: s.whyOff(strategy, last), Next: fmt.Sprintf("It stays off until somebody starts it: %s.", start)}
	}
}

// whyOff says why a VM is off that a start would bring on.
func (s situation) whyOff(strategy v1.RunStrategy, last string) string {
	switch {
	case strategy == v1.RunRerunOnFailure:
		return join(last, "Its run strategy is RerunOnFailure: a new instance follows a failure, and this was none.")
	case strategy == v1.RunOnce:
		return join(last, "Its run strategy was changed to Once while it was off, and nobody has started it since.")
	case last == "":
		return "Its run strategy is Manual, and nobody has started it yet."
	default:
		return join(last, "Its run strategy is Manual: each start is for one run, and that run is over.")
	}
}

// unseen explains a VM that the core has written nothing about.
func (s situation) unseen() Answer {
	return Answer{
		State: "Accepted, not looked at yet.",
		Why: fmt.Sprintf("It was created %s, and no control plane has decided about it since.",
			human.Ago(s.vm.Metadata.CreationTimestamp, s.now)),
		Next: "The control plane decides on it the next time it looks, usually at once.",
	}
}

// quarantined explains a VM that was found running where the store knows nothing of it.
func (s situation) quarantined() Answer {
	why := "A host runs an instance of it that the store does not know, as happens after a restore from a backup."
	if w := s.vm.Status.Waiting; w != nil && w.Message != "" {
		why = sentence(w.Message)
	}
	return Answer{State: "Quarantined: nothing of it is started or stopped.", Why: why,
		Next: "A person has to decide: look at what runs on the host, and switch off what must not."}
}

// lastEnd tells how the newest instance ended; empty when the VM never had one.
func (s situation) lastEnd() string {
	if len(s.vm.Status.History) == 0 {
		return ""
	}
	e := s.vm.Status.History[0]
	return fmt.Sprintf("Its last instance ended %s on %s: %s", human.Ago(e.EndedAt, s.now), e.Host, ended(e))
}

// ended is how an instance ended, in words, as the rest of a sentence.
func ended(e v1.End) string {
	text := e.Message
	if text == "" {
		text = e.Reason
	}
	if text == "" {
		text = string(e.Phase)
	}
	return punctuated(text)
}
