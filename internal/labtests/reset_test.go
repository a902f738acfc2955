package labtests

import (
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// TestResetIsCounted: a guest that reboots itself keeps its instance. It looks healthy from outside, so what it does is counted.
func TestResetIsCounted(t *testing.T) {
	w := newWorld(t, 1)
	vm := w.vm("loop", v1.RunAlways)
	vm.Spec.Template.KernelBoot.Cmdline += " hf.reboot=2"
	w.create(vm)
	first := w.booted("loop")
	second := w.booted("loop", first)
	w.booted("loop", first, second)
	eventually(t, "two resets have been counted", func() bool {
		vm := w.status("loop")
		return vm != nil && vm.Status.Instance != nil && vm.Status.Instance.Resets >= 2
	})
	if st := w.status("loop").Status; st.Instances != 1 || st.PrintableStatus != v1.PrintableRunning {
		t.Errorf("it is %s in instance %d, want Running in its first", st.PrintableStatus, st.Instances)
	}
}
