package explain

import (
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// instance explains a VM that has one.
func (s situation) instance(i *v1.Instance) Answer {
	switch {
	case s.hosts.unreachable(i.Host):
		return s.outOfReach(i)
	case i.Abandon != nil:
		return s.abandoned(i)
	case i.Phase == v1.PhaseSucceeded || i.Phase == v1.PhaseFailed:
		return Answer{State: fmt.Sprintf("Ended on %s.", i.Host), Why: orElse(s.lastEnd(), "How it ended is being found out."),
			Next: "Its definition is being removed from the host; then its run strategy decides what follows."}
	case i.Stop != nil:
		return s.stopping(i)
	case i.Phase == v1.PhaseScheduled:
		return Answer{
			State: fmt.Sprintf("Scheduled: %s has promised it room %s.", i.Host, human.Ago(i.CreatedAt, s.now)),
			Why:   s.waitingMessage("The launch waits for something on that host."),
			Next:  join("The host is told to start it as soon as it can be, usually within seconds.", s.onlyRun()),
		}
	case i.Phase == v1.PhaseLaunching:
		return s.launching(i)
	case i.Paused != "":
		return s.paused(i)
	default:
		return s.running(i)
	}
}

func (s situation) running(i *v1.Instance) Answer {
	why, next := s.whyOn(), s.howLong()
	if c := s.vm.Status.CrashLoop; c != nil && c.ConsecutiveFailures > 0 {
		why = join(why, fmt.Sprintf("It runs again after %s; the last was %s: %s",
			failures(c.ConsecutiveFailures), human.Ago(c.LastFailure.EndedAt, s.now), ended(c.LastFailure)))
	}
	if s.restartRequired() {
		next = join(next, s.whenEditApplies())
	}
	return Answer{State: fmt.Sprintf("Running on %s since %s.", i.Host, human.Ago(i.RunningAt, s.now)), Why: why, Next: next}
}

func (s situation) launching(i *v1.Instance) Answer {
	a := Answer{
		State: fmt.Sprintf("Launching on %s since %s.", i.Host, human.Ago(i.CreatedAt, s.now)),
		Why:   s.waitingMessage("The host has been told to start it and does not report it as running yet."),
		Next:  "It is Running as soon as the host says so.",
	}
	if !i.StartDeadline.IsZero() {
		a.Next += fmt.Sprintf(" If the host has not said so by %s, the launch has failed, and %s.",
			human.By(i.StartDeadline, s.now), s.afterFailedLaunch())
	}
	a.Next = join(a.Next, s.onlyRun())
	return a
}

func (s situation) paused(i *v1.Instance) Answer {
	a := Answer{State: fmt.Sprintf("Paused on %s: the guest's CPUs stand still.", i.Host)}
	resume := fmt.Sprintf(`"virsh resume %s" on %s`, s.vm.Metadata.UID, i.Host)
	switch i.Paused {
	case "ioerror":
		a.Why = "A disk gave an I/O error or has no space left, and QEMU paused the guest so that it loses nothing."
		a.Next = fmt.Sprintf("It stays paused: Holdfast neither resumes nor kills it. Repair the storage, then %s.", resume)
	case "user":
		a.Why = "Somebody paused it on the host, outside Holdfast."
		a.Next = fmt.Sprintf("It stays paused until somebody resumes it: %s.", resume)
	default:
		a.Why = fmt.Sprintf("The hypervisor gives the reason %q.", i.Paused)
		a.Next = fmt.Sprintf("It stays paused until the hypervisor or somebody resumes it: %s.", resume)
	}
	a.Next += fmt.Sprintf(" %s switches it off.", command("stop", s.vm, "--force"))
	return a
}

// abandoned explains an instance that has ended, but may not be forgotten before its definition is certainly gone.
func (s situation) abandoned(i *v1.Instance) Answer {
	a := Answer{
		State: fmt.Sprintf("The launch on %s failed and is being cleaned up.", i.Host),
		Why:   sentence(ended(*i.Abandon)),
		Next:  "As soon as it is certain that nothing of it runs there, the failure counts and the next try is planned.",
	}
	switch {
	case i.Stop != nil && WantedOn(s.vm):
		a.Next = "As soon as it is certain that nothing of it runs there, a new instance starts."
	case i.Stop != nil:
		a.Next = "As soon as it is certain that nothing of it runs there, it is Stopped."
	case !i.RunningAt.IsZero():
		a.State = fmt.Sprintf("Ended on %s, and being cleaned up.", i.Host)
		a.Next = "As soon as it is certain that nothing of it runs there, its run strategy decides what follows."
	case s.vm.Spec.EffectiveRunStrategy() == v1.RunManual:
		a.Next = "As soon as it is certain that nothing of it runs there, it is Stopped: its run strategy is Manual, and a start that " +
			"fails is not repeated."
	}
	return a
}

func (s situation) outOfReach(i *v1.Instance) Answer {
	a := Answer{
		State: fmt.Sprintf("Unknown: it was %s on %s, which is out of reach.", phaseWord(i), i.Host),
		Why:   s.silence(i.Host),
		Next:  "As soon as the host answers it is looked at, and what still runs is left running. " + s.notTwice(i.Host),
	}
	if i.Stop != nil {
		a.Next = fmt.Sprintf("The %s asked for%s %s is recorded and carried out as soon as the host answers. %s",
			stopWord(i.Stop), by(i.Stop.By), human.Ago(i.Stop.At, s.now), s.notTwice(i.Host))
	}
	return a
}

// notTwice says why nothing starts elsewhere, and who can change that.
func (s situation) notTwice(host string) string {
	text := "Until then nothing of it starts elsewhere, so that it never runs twice."
	if s.hosts[host] != nil {
		text += fmt.Sprintf(` If the host is down, and you know it: "holdfast host confirm-down %s".`, host)
	}
	return text
}

// silence says why nothing is known of a host.
func (s situation) silence(name string) string {
	host := s.hosts[name]
	if host == nil {
		return fmt.Sprintf("Host %s is none of the hosts any more: it was deleted.", name)
	}
	why := fmt.Sprintf("Host %s has not answered since %s", name, human.Ago(host.Status.Since, s.now))
	if m := host.Status.Message; m != "" {
		why += ": " + m
	}
	return punctuated(why)
}

// waitingMessage is the core's own word on what an instance waits for, or else otherwise.
func (s situation) waitingMessage(otherwise string) string {
	if w := s.vm.Status.Waiting; w != nil && w.Message != "" {
		return sentence(w.Message)
	}
	return otherwise
}

// phaseWord is what an instance was last seen doing.
func phaseWord(i *v1.Instance) string {
	switch {
	case i.Phase == v1.PhaseScheduled:
		return "about to be launched"
	case i.Phase == v1.PhaseLaunching:
		return "launching"
	case i.Paused != "":
		return "paused"
	default:
		return "running"
	}
}
