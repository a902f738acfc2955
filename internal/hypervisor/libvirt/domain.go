package libvirt

import (
	"cmp"
	"encoding/xml"
	"fmt"

	"libvirt.org/go/libvirtxml"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// domainXML writes the definition of a machine. Everything that decides what the guest sees, or what happens to it, is spelled out:
// libvirt's defaults differ between versions. docs/libvirt.md says why each choice was made; testdata shows the outcome.
func domainXML(m hypervisor.Machine, domainType string, found *machineMedia) (string, error) {
	metadata, err := xml.Marshal(identityOf(m))
	if err != nil {
		return "", fmt.Errorf("write the metadata: %w", err)
	}
	t := m.Template
	d := libvirtxml.Domain{
		Type:       domainType,
		Name:       m.DomainName(),
		UUID:       m.VMUID,
		Metadata:   &libvirtxml.DomainMetadata{XML: string(metadata)},
		Memory:     &libvirtxml.DomainMemory{Value: uint(kibibytes(t.Memory)), Unit: "KiB"},
		VCPU:       &libvirtxml.DomainVCPU{Placement: "static", Value: uint(t.CPU.VCPUs())},
		OS:         domainOS(m),
		Features:   &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}, APIC: &libvirtxml.DomainFeatureAPIC{}},
		CPU:        domainCPU(m),
		Clock:      domainClock(),
		OnPoweroff: "destroy",
		OnReboot:   "restart",
		OnCrash:    "destroy",
		Devices:    domainDevices(m, found),
	}
	if t.Firmware.UUID != "" && t.Firmware.UUID != m.VMUID {
		// libvirt has an element for it only since 11.7 (hwuuid), and older ones pass over it in silence.
		d.QEMUCommandline = &libvirtxml.DomainQEMUCommandline{Args: []libvirtxml.DomainQEMUCommandlineArg{
			{Value: "-smbios"}, {Value: "type=1,uuid=" + t.Firmware.UUID},
		}}
	}
	return d.Marshal()
}

// kibibytes rounds up, as libvirt does.
func kibibytes(q v1.Quantity) int64 { return (int64(q) + 1023) / 1024 }

func domainOS(m hypervisor.Machine) *libvirtxml.DomainOS {
	os := &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Arch: guestArch, Machine: m.MachineType, Type: "hvm"}}
	if m.Template.Firmware.Type == v1.FirmwareUEFI {
		// libvirt picks the image. Secure boot is off, said explicitly: it would need keys and SMM, and an image with keys enrolled
		// refuses most guests.
		os.Firmware = "efi"
		os.FirmwareInfo = &libvirtxml.DomainOSFirmwareInfo{Features: []libvirtxml.DomainOSFirmwareFeature{
			{Enabled: "no", Name: "enrolled-keys"}, {Enabled: "no", Name: "secure-boot"},
		}}
	}
	if k := m.Template.KernelBoot; k != nil {
		os.Kernel, os.Initrd, os.Cmdline = k.Kernel, k.Initrd, k.Cmdline
	}
	return os
}

func domainCPU(m hypervisor.Machine) *libvirtxml.DomainCPU {
	t := m.Template.CPU
	cpu := &libvirtxml.DomainCPU{Topology: &libvirtxml.DomainCPUTopology{
		Sockets: max(1, t.Sockets), Dies: 1, Cores: max(1, t.Cores), Threads: max(1, t.Threads),
	}}
	switch model := cmp.Or(t.Model, m.CPUModel); model {
	case "":
	case "host-passthrough":
		cpu.Mode, cpu.Check, cpu.Migratable = model, "none", "on"
	case "host-model":
		cpu.Mode, cpu.Check = model, "partial"
	default:
		// Exactly this model, or the domain does not start: a guest must not find another CPU after a move.
		cpu.Mode, cpu.Match, cpu.Check = "custom", "exact", "partial"
		cpu.Model = &libvirtxml.DomainCPUModel{Fallback: "forbid", Value: model}
	}
	for _, f := range t.Features {
		cpu.Features = append(cpu.Features, libvirtxml.DomainCPUFeature{Name: f.Name, Policy: cmp.Or(f.Policy, "require")})
	}
	return cpu
}

// domainClock keeps a guest's clock right when its host is short of time: lost ticks are made up for by the RTC, and by the PIT
// not at once. The HPET would keep a second account of them.
func domainClock() *libvirtxml.DomainClock {
	return &libvirtxml.DomainClock{Offset: "utc", Timer: []libvirtxml.DomainTimer{
		{Name: "rtc", TickPolicy: "catchup"},
		{Name: "pit", TickPolicy: "delay"},
		{Name: "hpet", Present: "no"},
	}}
}
