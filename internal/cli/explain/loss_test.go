package explain

import (
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func TestAfterLoss(t *testing.T) {
	host := &v1.Host{Metadata: v1.ObjectMeta{Name: "h1"}, Status: v1.HostStatus{LostAt: ago(time.Hour)}}
	on := func(strategy v1.RunStrategy, changes ...func(*v1.VirtualMachine)) *v1.VirtualMachine {
		vm := &v1.VirtualMachine{Spec: v1.VirtualMachineSpec{RunStrategy: strategy}, Status: v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h1"}}}
		for _, change := range changes {
			change(vm)
		}
		return vm
	}
	stopping := func(reason string) func(*v1.VirtualMachine) {
		return func(vm *v1.VirtualMachine) { vm.Status.Instance.Stop = &v1.StopRequest{Reason: reason} }
	}
	ended := func(reason string, before time.Duration) func(*v1.VirtualMachine) {
		return func(vm *v1.VirtualMachine) {
			vm.Status.Instance, vm.Status.Finished = nil, &v1.Finished{}
			vm.Status.History = []v1.End{{Host: "h1", Reason: reason, EndedAt: ago(time.Hour + before)}}
		}
	}
	for name, c := range map[string]struct {
		vm      *v1.VirtualMachine
		touched bool
		want    Loss
	}{
		"always":    {on(v1.RunAlways), true, Loss{true, "its run strategy is Always"}},
		"rerun":     {on(v1.RunRerunOnFailure), true, Loss{true, "its run strategy is RerunOnFailure"}},
		"manual":    {on(v1.RunManual), true, Loss{false, "its run strategy is Manual"}},
		"once":      {on(v1.RunOnce), true, Loss{false, "its run strategy is Once"}},
		"halted":    {on(v1.RunHalted), true, Loss{false, "its run strategy is Halted"}},
		"restarted": {on(v1.RunManual, stopping(v1.StopReasonRestart)), true, Loss{true, "it was being restarted"}},
		"restarted, and then Halted": {on(v1.RunHalted, stopping(v1.StopReasonRestart)), true,
			Loss{false, "its run strategy is Halted"}},
		"held": {on(v1.RunAlways, stopping(v1.StopReasonStop), func(vm *v1.VirtualMachine) { vm.Status.Hold = &v1.Hold{} }), true,
			Loss{false, "it is held off by a stop"}},
		"deleted": {on(v1.RunAlways, func(vm *v1.VirtualMachine) { at := now; vm.Metadata.DeletionTimestamp = &at }), true,
			Loss{false, "it is being deleted"}},
		"elsewhere":         {on(v1.RunAlways, func(vm *v1.VirtualMachine) { vm.Status.Instance.Host = "h2" }), false, Loss{}},
		"without":           {on(v1.RunAlways, func(vm *v1.VirtualMachine) { vm.Status.Instance = nil }), false, Loss{}},
		"just shut":         {on(v1.RunRerunOnFailure, ended("GuestShutdown", 50*time.Second)), true, Loss{true, "it ended while the host was going down"}},
		"just saved":        {on(v1.RunRerunOnFailure, ended("EndedByOutsider", 50*time.Second)), true, Loss{true, "it ended while the host was going down"}},
		"just crashed":      {on(v1.RunRerunOnFailure, ended("Crashed", 50*time.Second)), false, Loss{}},
		"shut long ago":     {on(v1.RunRerunOnFailure, ended("GuestShutdown", 70*time.Second)), false, Loss{}},
		"manual, just shut": {on(v1.RunManual, ended("GuestShutdown", 50*time.Second)), false, Loss{}},
	} {
		if got, touched := AfterLoss(c.vm, host); got != c.want || touched != c.touched {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, touched, c.want, c.touched)
		}
	}
}
