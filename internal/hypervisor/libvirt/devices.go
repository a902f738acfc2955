package libvirt

import (
	"cmp"

	"libvirt.org/go/libvirtxml"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// agentChannel is the name by which qemu-guest-agent finds its port.
const agentChannel = "org.qemu.guest_agent.0"

func domainDevices(m hypervisor.Machine, found *machineMedia) *libvirtxml.DomainDeviceList {
	t := m.Template
	serial, console := serialPort(t.SerialLog)
	disks := newDiskWriter(t)
	written := disks.all(t, found)
	devices := &libvirtxml.DomainDeviceList{
		Disks:       written,
		Controllers: controllers(disks.scsi > 0),
		Interfaces:  interfaces(t.NICs, m.VMUID, disks.boot),
		Serials:     []libvirtxml.DomainSerial{serial},
		Consoles:    []libvirtxml.DomainConsole{console},
		// Nobody inflates it. It is there because a guest tells through it how much memory it uses.
		MemBalloon: &libvirtxml.DomainMemBalloon{Model: "virtio"},
	}
	if wanted(t.GuestAgent) {
		devices.Channels = []libvirtxml.DomainChannel{{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{Mode: "bind"}},
			Target: &libvirtxml.DomainChannelTarget{VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: agentChannel}},
		}}
	}
	if wanted(t.RNG) {
		devices.RNGs = []libvirtxml.DomainRNG{{
			Model:   "virtio",
			Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}},
		}}
	}
	if wanted(t.PanicDevice) {
		devices.Panics = []libvirtxml.DomainPanic{{Model: "isa"}}
	}
	return devices
}

// wanted reads a switch that is on unless somebody turned it off.
func wanted(b *bool) bool { return b == nil || *b }

// controllers are those that libvirt would not choose so by itself: no USB, and SCSI disks on virtio instead of an emulated LSI.
func controllers(scsi bool) []libvirtxml.DomainController {
	list := []libvirtxml.DomainController{{Type: "usb", Model: "none"}}
	if scsi {
		list = append(list, libvirtxml.DomainController{Type: "scsi", Index: new(uint), Model: "virtio-scsi"})
	}
	return list
}

// serialPort is a terminal, whether its output is kept or not: so a console can be opened on every guest.
func serialPort(log *v1.SerialLog) (libvirtxml.DomainSerial, libvirtxml.DomainConsole) {
	serial := libvirtxml.DomainSerial{
		Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}},
		Target: &libvirtxml.DomainSerialTarget{
			Type: "isa-serial", Port: new(uint), Model: &libvirtxml.DomainSerialTargetModel{Name: "isa-serial"},
		},
	}
	console := libvirtxml.DomainConsole{
		Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}},
		Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: new(uint)},
	}
	if log != nil {
		serial.Log = &libvirtxml.DomainChardevLog{File: log.Path, Append: "on"}
		console.Log = serial.Log
	}
	return serial, console
}

func interfaces(nics []v1.NIC, vmUID string, boot *bootOrders) []libvirtxml.DomainInterface {
	var list []libvirtxml.DomainInterface
	for _, n := range nics {
		source := &libvirtxml.DomainInterfaceSource{}
		if n.Bridge != "" {
			source.Bridge = &libvirtxml.DomainInterfaceSourceBridge{Bridge: n.Bridge}
		} else {
			source.Network = &libvirtxml.DomainInterfaceSourceNetwork{Network: n.Network}
		}
		list = append(list, libvirtxml.DomainInterface{
			MAC:    &libvirtxml.DomainInterfaceMAC{Address: n.EffectiveMAC(vmUID)},
			Source: source,
			Model:  &libvirtxml.DomainInterfaceModel{Type: cmp.Or(n.Model, "virtio")},
			Boot:   boot.network(n.BootOrder),
		})
	}
	return list
}
