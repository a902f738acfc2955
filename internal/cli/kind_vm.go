package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

var vmKind = resource[v1.VirtualMachine]{
	kindNames: kindNames{kind: v1.KindVirtualMachine, short: "vm", plural: "virtual machines",
		words: []string{"vms", "virtualmachine", "virtualmachines"}},
	namespaced: true,
	meta:       func(vm *v1.VirtualMachine) *v1.ObjectMeta { return &vm.Metadata },
	get: func(ctx context.Context, c *client.Client, namespace, name string) (*v1.VirtualMachine, error) {
		return c.GetVM(ctx, namespace, name)
	},
	list: func(ctx context.Context, c *client.Client, namespace string, o client.ListOptions) (*v1.List[v1.VirtualMachine], error) {
		return c.ListVMs(ctx, namespace, o)
	},
	watch: func(ctx context.Context, c *client.Client, namespace string, o client.WatchOptions) client.Watch[v1.VirtualMachine] {
		return c.WatchVMs(ctx, namespace, o)
	},
	columns: []column[v1.VirtualMachine]{
		{header: "NAME", cell: func(vm *v1.VirtualMachine, _ *view) string { return vm.Metadata.Name }},
		{header: "STATUS", cell: func(vm *v1.VirtualMachine, v *view) string { return vmStatus(vm, v.now) }},
		{header: "HOST", cell: func(vm *v1.VirtualMachine, _ *view) string { return dash(hostOf(vm)) }},
		{header: "INSTANCE", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string {
			if vm.Status.Instance == nil {
				return "-"
			}
			return vm.Status.Instance.ID
		}},
		{header: "FAILURES", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string {
			if vm.Status.CrashLoop == nil {
				return "0"
			}
			return fmt.Sprint(vm.Status.CrashLoop.ConsecutiveFailures)
		}},
		{header: "CPU", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string { return fmt.Sprint(vm.Spec.Template.CPU.VCPUs()) }},
		{header: "MEMORY", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string { return vm.Spec.Template.Memory.String() }},
		{header: "STRATEGY", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string { return string(vm.Spec.EffectiveRunStrategy()) }},
		{header: "AGE", ticks: true, cell: func(vm *v1.VirtualMachine, v *view) string {
			return human.Age(vm.Metadata.CreationTimestamp, v.now)
		}},
		{header: "WHY", wide: true, cell: func(vm *v1.VirtualMachine, _ *view) string { return whyWord(vm) }},
	},
}

// vmStatus is the one word about a VM; in back-off also how often it failed and when it is tried again.
func vmStatus(vm *v1.VirtualMachine, now time.Time) string {
	word := cmp.Or(vm.Status.PrintableStatus, v1.PrintableWaiting)
	if vm.Metadata.DeletionTimestamp != nil && word != v1.PrintableUnknown {
		word = v1.PrintableTerminating // the core may not have looked yet
	}
	c := vm.Status.CrashLoop
	if word != v1.PrintableBackOff || c == nil {
		return word
	}
	failures := "1 failure"
	if c.ConsecutiveFailures != 1 {
		failures = fmt.Sprintf("%d failures", c.ConsecutiveFailures)
	}
	retry := "retry now"
	if c.RetryAt.After(now) {
		retry = "retry in " + human.Short(c.RetryAt.Sub(now))
	}
	return fmt.Sprintf("%s (%s, %s)", word, failures, retry)
}

// whyWord is the constant that goes with a VM's status; "-" when it is as its owner wants.
func whyWord(vm *v1.VirtualMachine) string {
	st := &vm.Status
	switch i := st.Instance; {
	case st.PrintableStatus == v1.PrintableUnknown:
		return "HostUnreachable"
	case vm.Metadata.DeletionTimestamp != nil:
		return "Deleted"
	case i != nil && i.Abandon != nil:
		return dash(i.Abandon.Reason)
	case i != nil && i.Stop != nil:
		return i.Stop.Reason
	case i != nil && i.Paused != "":
		return i.Paused
	case st.Waiting != nil:
		return st.Waiting.Reason
	case i != nil:
		return "-"
	case st.Finished != nil && vm.Spec.EffectiveRunStrategy() == v1.RunOnce:
		return st.Finished.Reason // over, whether it is held or not
	case st.Hold != nil:
		return "Hold"
	case len(st.History) > 0:
		return st.History[0].Reason
	default:
		return "-"
	}
}

func hostOf(vm *v1.VirtualMachine) string {
	if vm.Status.Instance == nil {
		return ""
	}
	return vm.Status.Instance.Host
}

// dash stands for nothing in a table.
func dash(s string) string { return cmp.Or(s, "-") }
