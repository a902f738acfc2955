package sim

import (
	"strings"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Guest is how a guest behaves. The zero value runs at once and for ever, and shuts down at once when asked.
type Guest struct {
	// Boot is the time from create until libvirt shows the guest as running; until then it is paused (startup).
	Boot time.Duration
	// StartError is libvirt's text when it does not start, after Boot. Empty means it starts.
	StartError string
	// Shutdown is the time from an ACPI request until the guest is off.
	Shutdown time.Duration
	// IgnoresACPI: it never shuts down when asked. Deaf: it ignores requests for that long after it began to run.
	IgnoresACPI bool
	Deaf        time.Duration
	// PowersOffAfter and CrashesAfter are counted from when it began to run; zero means never.
	PowersOffAfter, CrashesAfter time.Duration
}

// GuestOf reads the behaviour from the kernel's command line, as "sim.<field>=<value>" with the fields boot, starterror, shutdown,
// acpi (ignore), deaf, poweroff and crash: "sim.boot=2s sim.poweroff=1m". Underscores in starterror are spaces. Anything else, and
// values that do not parse, mean nothing to it.
func GuestOf(m hypervisor.Machine) Guest {
	var g Guest
	if m.Template.KernelBoot == nil {
		return g
	}
	for _, word := range strings.Fields(m.Template.KernelBoot.Cmdline) {
		key, value, _ := strings.Cut(strings.TrimPrefix(word, "sim."), "=")
		d, _ := time.ParseDuration(value)
		switch key {
		case "boot":
			g.Boot = d
		case "starterror":
			g.StartError = strings.ReplaceAll(value, "_", " ")
		case "shutdown":
			g.Shutdown = d
		case "acpi":
			g.IgnoresACPI = value == "ignore"
		case "deaf":
			g.Deaf = d
		case "poweroff":
			g.PowersOffAfter = d
		case "crash":
			g.CrashesAfter = d
		}
	}
	return g
}
