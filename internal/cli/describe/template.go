package describe

import (
	"cmp"
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// template writes what the machine is made of.
func template(p *page, t *v1.Template, vm *v1.VirtualMachine) {
	c := t.CPU
	cpu := fmt.Sprintf("%d", c.VCPUs())
	if c.VCPUs() > 1 {
		cpu += fmt.Sprintf(" (sockets %d, cores %d, threads %d)", max(1, c.Sockets), max(1, c.Cores), max(1, c.Threads))
	}
	p.field("CPUs", "%s, model %s", cpu, cmp.Or(c.Model, "the cluster's baseline"))
	for _, f := range c.Features {
		p.field("CPU feature", "%s %s", cmp.Or(f.Policy, "require"), f.Name)
	}
	p.field("Memory", "%s", t.Memory)
	machine := cmp.Or(t.Machine.Type, "q35")
	if m := vm.Status.MachineType; m != "" && m != machine {
		machine += fmt.Sprintf(" (kept as %s since the first start)", m)
	}
	p.field("Machine", "%s, firmware %s", machine, cmp.Or(t.Firmware.Type, v1.FirmwareBIOS))
	if k := t.KernelBoot; k != nil {
		p.field("Kernel", "%s", k.Kernel)
		p.field("Initrd", "%s", k.Initrd)
		p.field("Command line", "%s", k.Cmdline)
	}
	for _, d := range t.Disks {
		p.field("Disk "+d.Name, "%s", strings.Join(diskWords(d), ", "))
	}
	for _, c := range t.CDROMs {
		p.field("CD "+c.Name, "%s", place(c.Pool, c.Volume, c.Path))
	}
	for _, n := range t.NICs {
		plug := "network " + n.Network
		if n.Bridge != "" {
			plug = "bridge " + n.Bridge
		}
		p.field("NIC "+n.Name, "%s, %s, %s", plug, cmp.Or(n.Model, "virtio"), n.EffectiveMAC(vm.Metadata.UID))
	}
	if t.CloudInit != nil {
		p.field("Cloud-init", "seed on pool %s", t.CloudInit.Pool)
	}
	if t.SerialLog != nil {
		p.field("Serial log", "%s on the host", t.SerialLog.Path)
	}
}

func diskWords(d v1.Disk) []string {
	words := []string{place(d.Pool, d.Volume, d.Path)}
	for _, w := range []string{d.Format, d.Bus} {
		if w != "" {
			words = append(words, w)
		}
	}
	if d.ReadOnly {
		words = append(words, "read-only")
	}
	if d.Shareable {
		words = append(words, "shareable")
	}
	if d.BootOrder > 0 {
		words = append(words, fmt.Sprintf("boot order %d", d.BootOrder))
	}
	return words
}

func place(pool, volume, path string) string {
	if pool != "" {
		return fmt.Sprintf("volume %s of pool %s", volume, pool)
	}
	return path
}
