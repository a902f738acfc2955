package invariant

import (
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// tell is what a change of the store says about what a person wants to know who reads evidence, on one line.
func tell(ch store.Change) string {
	key := strings.TrimPrefix(ch.Key, layout.Root)
	if ch.Deleted {
		return key + " is deleted"
	}
	is := func(prefix string) bool { return strings.HasPrefix(ch.Key, prefix) }
	switch {
	case is(layout.Spec + layout.VM):
		return key + tellVM(decode[v1.VirtualMachine](ch.Value))
	case is(layout.Status + layout.VM):
		return key + tellStatus(decode[layout.StatusOf[v1.VirtualMachineStatus]](ch.Value).Status)
	case is(layout.Spec + layout.Action):
		a := decode[v1.Action](ch.Value)
		return key + " " + word(string(a.Spec.Type)) + flag(a.Spec.Force, "by force")
	case is(layout.Status + layout.Action):
		s := decode[layout.StatusOf[v1.ActionStatus]](ch.Value).Status
		return key + word(s.Phase) + word(s.Reason) + word(s.Message)
	case is(layout.Status + layout.Host):
		s := decode[layout.StatusOf[v1.HostStatus]](ch.Value).Status
		return key + word(string(s.State)) + word(s.Reason) + word(s.Message)
	case is(layout.Index), is(layout.Event), is(layout.Revision):
		return key
	}
	return key + " " + string(ch.Value)
}

func tellVM(o v1.VirtualMachine) string {
	return fmt.Sprintf(" uid %s generation %d%s memory %s%s%s", o.Metadata.UID, o.Metadata.Generation, word(string(strategy(&o.Spec))),
		o.Spec.Template.Memory, flag(o.Metadata.DeletionTimestamp != nil, "to be deleted"), flag(o.Metadata.DeletionForce, "by force"))
}

func tellStatus(s v1.VirtualMachineStatus) string {
	out := word(s.PrintableStatus) + flag(s.Hold != nil, "held") + flag(s.Run != nil, "run wanted")
	if in := s.Instance; in != nil {
		out += fmt.Sprintf(" instance %s %s on %s", in.ID, in.Phase, in.Host)
		if in.Stop != nil {
			out += " stop:" + in.Stop.Reason + flag(in.Stop.Force, "by force") + " until " + in.Stop.Deadline.UTC().Format(clock)
		}
		if in.Abandon != nil {
			out += " abandoned:" + in.Abandon.Reason
		}
	}
	if s.Finished != nil {
		out += " finished:" + s.Finished.Reason
	}
	if s.Waiting != nil {
		out += " waits:" + s.Waiting.Reason
	}
	if s.CrashLoop != nil {
		out += fmt.Sprintf(" failures:%d, next try %s", s.CrashLoop.ConsecutiveFailures, s.CrashLoop.RetryAt.UTC().Format(clock))
	}
	for _, end := range s.History {
		out += fmt.Sprintf(" ended:%s %s %s", end.Instance, end.Phase, end.Reason)
	}
	return out + flag(len(s.Leftovers) > 0, "leftovers on "+strings.Join(s.Leftovers, ", "))
}

const clock = "15:04:05.000"

func word(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func flag(is bool, s string) string {
	if !is {
		return ""
	}
	return " " + s
}
