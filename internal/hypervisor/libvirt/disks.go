package libvirt

import (
	"cmp"
	"strings"

	"libvirt.org/go/libvirtxml"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// pathMedia is a path that the template names. What lies in /dev is a block device.
func pathMedia(path string) media { return media{path: path, block: strings.HasPrefix(path, "/dev/")} }

func (m media) source() *libvirtxml.DomainDiskSource {
	if m.block {
		return &libvirtxml.DomainDiskSource{Block: &libvirtxml.DomainDiskSourceBlock{Dev: m.path}}
	}
	return &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: m.path}}
}

// diskWriter hands out device names and boot orders while it writes the disks.
type diskWriter struct {
	boot   *bootOrders
	vd, sd int // how many names of each kind are given out
	scsi   int // how many disks hang on the SCSI controller
}

// newDiskWriter sets the first sdX aside for the CD-ROMs, which so are sda, sdb, … whatever disks there are.
func newDiskWriter(t v1.Template) *diskWriter {
	return &diskWriter{boot: bootOrdersOf(t), sd: len(t.CDROMs)}
}

// all writes the template's disks and CD-ROMs and the seed, which comes last, so that it moves nothing.
func (w *diskWriter) all(t v1.Template, found *machineMedia) []libvirtxml.DomainDisk {
	var list []libvirtxml.DomainDisk
	for i, d := range t.Disks {
		list = append(list, w.disk(d, found.disks[i]))
	}
	for i, c := range t.CDROMs {
		drive := cdrom(deviceName("sd", i), c.Name, found.cdroms[i])
		drive.Boot = w.boot.medium(c.BootOrder)
		list = append(list, drive)
	}
	if found.seed != nil {
		list = append(list, w.seedDisk(*found.seed))
	}
	return list
}

func (w *diskWriter) disk(d v1.Disk, at media) libvirtxml.DomainDisk {
	disk := libvirtxml.DomainDisk{
		Device: "disk",
		Driver: &libvirtxml.DomainDiskDriver{
			Name: "qemu", Type: diskFormat(d),
			// Past the host's page cache: only then may a guest move live, and a flush means what it says.
			Cache: "none",
			// A disk that fails or is full stops the guest where it is, instead of letting it see errors it cannot mend.
			ErrorPolicy: "stop", RErrorPolicy: "stop",
			Discard: "unmap",
		},
		Source: at.source(),
		Target: &libvirtxml.DomainDiskTarget{Bus: cmp.Or(d.Bus, "virtio")},
		Serial: d.Name,
		Boot:   w.boot.medium(d.BootOrder),
	}
	if at.block {
		// Without a file system in between, asynchronous I/O of the kernel never blocks, and costs fewer threads.
		disk.Driver.IO = "native"
	}
	switch disk.Target.Bus {
	case "virtio":
		disk.Target.Dev = w.vdName()
	case "scsi":
		// One controller holds them all; by its own rule libvirt would begin another after the seventh.
		disk.Target.Dev = w.sdName()
		disk.Address = &libvirtxml.DomainAddress{Drive: &libvirtxml.DomainAddressDrive{
			Controller: new(uint), Bus: new(uint), Target: new(uint), Unit: new(uint(w.scsi)),
		}}
		w.scsi++
	default:
		disk.Target.Dev = w.sdName()
	}
	if d.ReadOnly {
		disk.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
	}
	if d.Shareable {
		disk.Shareable = &libvirtxml.DomainDiskShareable{}
	}
	return disk
}

func cdrom(device, name string, at media) libvirtxml.DomainDisk {
	return libvirtxml.DomainDisk{
		Device:   "cdrom",
		Driver:   &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw", ErrorPolicy: "stop", RErrorPolicy: "stop"},
		Source:   at.source(),
		Target:   &libvirtxml.DomainDiskTarget{Dev: device, Bus: "sata"},
		ReadOnly: &libvirtxml.DomainDiskReadOnly{},
		Serial:   serialOf(name),
	}
}

// seedDisk is a virtio disk, not a CD-ROM: the kernels of cloud images, for whom it is meant, drive virtio, and some (Debian's
// cloud kernel) have no driver for a SATA CD-ROM.
func (w *diskWriter) seedDisk(at media) libvirtxml.DomainDisk {
	return libvirtxml.DomainDisk{
		Device:   "disk",
		Driver:   &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "raw", ErrorPolicy: "stop", RErrorPolicy: "stop"},
		Source:   at.source(),
		Target:   &libvirtxml.DomainDiskTarget{Dev: w.vdName(), Bus: "virtio"},
		ReadOnly: &libvirtxml.DomainDiskReadOnly{},
		Serial:   "cloud-init",
	}
}

func (w *diskWriter) vdName() string {
	name := deviceName("vd", w.vd)
	w.vd++
	return name
}

func (w *diskWriter) sdName() string {
	name := deviceName("sd", w.sd)
	w.sd++
	return name
}

// deviceName counts as Linux does: sda … sdz, sdaa, sdab, …
func deviceName(prefix string, n int) string {
	letters := ""
	for n++; n > 0; n = (n - 1) / 26 {
		letters = string(rune('a'+(n-1)%26)) + letters
	}
	return prefix + letters
}

// serialOf fits a name into a serial number, of which QEMU keeps 20 characters.
func serialOf(name string) string { return name[:min(len(name), 20)] }

func diskFormat(d v1.Disk) string {
	if d.Format == "" && strings.HasSuffix(d.Volume+d.Path, ".qcow2") {
		return "qcow2"
	}
	return cmp.Or(d.Format, "raw")
}

// bootOrders gives each device its place among those that the firmware tries. When the template orders none, disks are tried as
// listed, then CD-ROMs.
type bootOrders struct {
	explicit, off bool
	last          uint
}

func bootOrdersOf(t v1.Template) *bootOrders {
	// A kernel that is booted directly leaves the firmware nothing to try.
	b := &bootOrders{off: t.KernelBoot != nil}
	for _, d := range t.Disks {
		b.explicit = b.explicit || d.BootOrder > 0
	}
	for _, c := range t.CDROMs {
		b.explicit = b.explicit || c.BootOrder > 0
	}
	for _, n := range t.NICs {
		b.explicit = b.explicit || n.BootOrder > 0
	}
	return b
}

// medium is the place of the next disk or CD-ROM; nil when it is not tried.
func (b *bootOrders) medium(order int) *libvirtxml.DomainDeviceBoot {
	if b.explicit || b.off {
		return b.network(order)
	}
	b.last++
	return &libvirtxml.DomainDeviceBoot{Order: b.last}
}

// network is the place of a network card, which is tried only when the template says so.
func (b *bootOrders) network(order int) *libvirtxml.DomainDeviceBoot {
	if order <= 0 || b.off {
		return nil
	}
	return &libvirtxml.DomainDeviceBoot{Order: uint(order)}
}
