package fleet

import (
	"reflect"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Differences names the parts of a template that differ, as a manifest names them, in its order.
func Differences(a, b *v1.Template) []string {
	var out []string
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"cpu", a.CPU, b.CPU},
		{"memory", a.Memory, b.Memory},
		{"machine", a.Machine, b.Machine},
		{"firmware", a.Firmware, b.Firmware},
		{"kernelBoot", a.KernelBoot, b.KernelBoot},
		{"disks", a.Disks, b.Disks},
		{"cdroms", a.CDROMs, b.CDROMs},
		{"nics", a.NICs, b.NICs},
		{"cloudInit", a.CloudInit, b.CloudInit},
		{"rng", a.RNG, b.RNG},
		{"panicDevice", a.PanicDevice, b.PanicDevice},
		{"guestAgent", a.GuestAgent, b.GuestAgent},
		{"serialLog", a.SerialLog, b.SerialLog},
	} {
		if !reflect.DeepEqual(part.a, part.b) {
			out = append(out, part.name)
		}
	}
	return out
}
