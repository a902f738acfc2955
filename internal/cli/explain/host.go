package explain

import (
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// Host explains a host. instances is how many instances have been promised room on it.
func Host(h *v1.Host, instances int, now time.Time) Answer {
	st := &h.Status
	since := ""
	if !st.Since.IsZero() {
		since = " since " + human.Ago(st.Since, now)
	}
	switch {
	case h.Metadata.DeletionTimestamp != nil:
		return Answer{State: "Being removed.",
			Why:  fmt.Sprintf("Its removal was asked for %s.", human.Ago(*h.Metadata.DeletionTimestamp, now)),
			Next: "It is gone as soon as nothing of Holdfast's is left on it."}
	case st.State == v1.HostUnreachable && st.FencedAt.After(st.LostAt) && h.Spec.ConfirmedDown != nil:
		return Answer{State: fmt.Sprintf("Unreachable%s, and confirmed to be down.", since),
			Why: fmt.Sprintf("%s It was confirmed%s %s that it is down.", orElse(sentence(st.Message), "Its libvirt does not answer."),
				by(h.Spec.ConfirmedDown.By), human.Ago(h.Spec.ConfirmedDown.At, now)),
			Next: fmt.Sprintf("What it ran starts elsewhere, as far as it is wanted on. It is tried again all the time; when it answers and "+
				`still runs any of it, that is switched off at once. If it is gone for good: "holdfast host remove %s".`, h.Metadata.Name)}
	case st.State == v1.HostUnreachable:
		return Answer{State: fmt.Sprintf("Unreachable%s: what runs there is unknown.", since),
			Why: orElse(sentence(st.Message), "Its libvirt does not answer."),
			Next: fmt.Sprintf("It is tried again all the time. Until it answers nothing starts there, and what it runs or ran (%s) "+
				"does not start elsewhere, so that nothing runs twice. If it is down, and you know it: \"holdfast host confirm-down %s\".",
				count(instances, "VM"), h.Metadata.Name)}
	case st.State == v1.HostRefused:
		return Answer{State: fmt.Sprintf("Refused%s: it answers, and must not be used.", since),
			Why:  orElse(sentence(st.Message), sentence(st.Reason)),
			Next: "Nothing starts there. Remove the cause; the host is judged again within a minute."}
	case st.State == v1.HostUp && h.Spec.Unschedulable:
		return Answer{State: fmt.Sprintf("Up%s, and cordoned.", since), Why: "Its libvirt answers; an admin keeps new instances away.",
			Next: fmt.Sprintf(`Nothing new starts there, and what runs is left running, until "holdfast host uncordon %s".`, h.Metadata.Name)}
	case st.State == v1.HostUp:
		return Answer{State: fmt.Sprintf("Up%s.", since), Why: "Its libvirt answers.", Next: "Instances start there as there is room."}
	default:
		return Answer{State: fmt.Sprintf("Connecting%s.", since),
			Why:  "It was added, or the control plane started, and its libvirt has not answered yet" + because(st.Message),
			Next: "It is Up as soon as it answers. If it does not, it becomes Unreachable, with the reason."}
	}
}

// because is the end of a sentence: the reason, when there is one.
func because(message string) string {
	if message == "" {
		return "."
	}
	return ": " + punctuated(message)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// count is "1 VM", "3 VMs".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
