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
	switch strategy := vm.Spec.EffectiveRunStrategy(); {
	case st.Hold != nil:
		why := fmt.Sprintf("It was stopped%s %s, and the hold that this put on it keeps it off, whatever its run strategy (%s).",
			by(st.Hold.By), human.Ago(st.Hold.At, s.now), strategy)
		return Answer{State: "Stopped.", Why: join(why, last),
			Next: fmt.Sprintf("It stays off until somebody starts it: %s lifts the hold.", command("start", vm))}
	case strategy == v1.RunHalted:
		return Answer{State: "Stopped.", Why: join("Its run strategy is Halted.", last),
			Next: "It stays off, and a start is refused, until its manifest says runStrategy: Always or Manual."}
	case strategy == v1.RunManual && len(st.History) == 0:
		return Answer{State: "Stopped.", Why: "Its run strategy is Manual, and nobody has started it yet.",
			Next: fmt.Sprintf("It stays off until somebody starts it: %s.", command("start", vm))}
	case strategy == v1.RunManual:
		return Answer{State: "Stopped.", Why: join(last, "Its run strategy is Manual: each start is for one run, and that run is over."),
			Next: fmt.Sprintf("It stays off until somebody starts it: %s.", command("start", vm))}
	default:
		return Answer{State: "Stopped, but wanted on.", Why: join(fmt.Sprintf("Its run strategy is %s, and it has no instance yet.", strategy), last),
			Next: "The control plane decides on it the next time it looks, usually at once."}
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
