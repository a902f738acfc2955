package sim

import "github.com/holdfast-vm/holdfast/internal/hypervisor"

// Farewell is how a host that goes down in good order ends its guests.
type Farewell string

// The farewells.
const (
	// Sigterm ends QEMU, which ends at once. libvirt's event tells it from a shutdown by the guest, its state does not.
	Sigterm Farewell = "SIGTERM"
	// ACPI presses each guest's power button, as libvirt-guests does. Guests that do not listen go on until the power goes.
	ACPI Farewell = "ACPI"
	// Saving saves each guest to a file, as libvirt-guests may too.
	Saving Farewell = "saving"
)

// EndGuests ends the guests that run because the host is going down. PowerOff is to follow.
func (h *Host) EndGuests(how Farewell) {
	h.with(func() {
		who := by{cause: CausePower}
		for _, d := range h.order {
			if d.run == nil || d.why == hypervisor.WhyStartup {
				continue
			}
			switch how {
			case Sigterm:
				h.emit(hypervisor.Event{UUID: d.uuid, Ended: "shutdown-host"})
				h.switchOff(d, hypervisor.WhyShutdown, who)
			case ACPI:
				h.askGuest(d, who)
			case Saving:
				h.switchOff(d, hypervisor.WhySaved, who)
			}
		}
	})
}
