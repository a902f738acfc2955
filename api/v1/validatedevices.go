package v1

import (
	"fmt"
	"net"
	"path"
	"regexp"
	"strings"
)

var (
	deviceName = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$`)
	serialName = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,19}$`)
	bridgeName = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,14}$`)
	macForm    = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$`)
)

const deviceRemedy = "name it with at most 63 letters, digits, '-', '_' and '.'"

// busRoom is how many disks a bus takes: PCI slots for virtio, the targets of one controller for SCSI, the six ports of an AHCI
// controller, which CD-ROMs and the cloud-init seed need too, for SATA.
var busRoom = map[string]int{BusVirtio: 24, BusSCSI: 64, BusSATA: 6}

func (v *validator) disks(t *Template) {
	const list = "spec.template.disks"
	names, images, onBus := map[string]int{}, map[string]int{}, map[string]int{BusSATA: len(t.CDROMs)}
	if t.CloudInit != nil {
		onBus[BusSATA]++
	}
	for i, d := range t.Disks {
		at := FieldIndex(list, i)
		v.name(at+".name", d.Name, serialName, "name it with at most 20 letters, digits, '-', '_' and '.': the guest sees it as the serial number")
		v.unique(names, at+".name", d.Name, list, i)
		v.image(at, d.Pool, d.Volume, d.Path)
		v.unique(images, at, imageID(d.Pool, d.Volume, d.Path), list, i)
		v.enum(at+".format", d.Format, FormatRaw, FormatQcow2)
		v.enum(at+".bus", d.Bus, BusVirtio, BusSCSI, BusSATA)
		v.must(!d.Shareable || d.Format != FormatQcow2, at+".shareable", "a qcow2 image cannot have two writers, whatever the guests do",
			"use a raw image, or remove shareable")
		v.must(!d.ReadOnly || d.Bus != BusSATA, at+".readOnly", "QEMU has no read-only SATA disks", "use bus virtio or scsi")
		onBus[d.Bus]++
		if room := busRoom[d.Bus]; onBus[d.Bus] == room+1 {
			v.add(at+".bus", fmt.Sprintf("more than %d devices on bus %s", room, d.Bus), "put some on another bus: virtio takes 24, scsi 64, sata 6 with the CD-ROMs")
		}
	}
}

func (v *validator) cdroms(t *Template) {
	const list = "spec.template.cdroms"
	names := map[string]int{}
	for i, c := range t.CDROMs {
		at := FieldIndex(list, i)
		v.name(at+".name", c.Name, deviceName, deviceRemedy)
		v.unique(names, at+".name", c.Name, list, i)
		v.image(at, c.Pool, c.Volume, c.Path)
	}
	room := busRoom[BusSATA]
	if t.CloudInit != nil {
		room--
	}
	v.must(len(t.CDROMs) <= room, list, fmt.Sprintf("%d drives are more than fit", len(t.CDROMs)),
		fmt.Sprintf("a VM has room for %d, and for one less with cloudInit", busRoom[BusSATA]))
}

// image wants a volume of a pool or a path, not both and not neither.
func (v *validator) image(at, pool, volume, file string) {
	switch {
	case file != "" && (pool != "" || volume != ""):
		v.add(at, "it has both a path and a pool's volume", "keep path, or pool and volume")
	case file != "":
		v.absolute(at+".path", file)
	case pool == "" && volume == "":
		v.add(at, "it names no image", "give pool and volume, or path")
	default:
		v.poolName(at+".pool", pool)
		v.volumeName(at+".volume", volume)
	}
}

func imageID(pool, volume, file string) string {
	switch {
	case pool != "" && volume != "":
		return pool + "/" + volume
	case strings.HasPrefix(file, "/"):
		return path.Clean(file)
	}
	return ""
}

func (v *validator) poolName(field, name string) {
	if v.must(name != "", field, "missing", "name a storage pool of libvirt") {
		v.must(plainName(name), field, fmt.Sprintf("%q is not a pool's name", name), "write the name that virsh pool-list shows")
	}
}

func (v *validator) volumeName(field, name string) {
	if v.must(name != "", field, "missing", "name the volume of the pool") {
		v.must(plainName(name), field, fmt.Sprintf("%q is not a volume's name", name), "write the name that virsh vol-list shows, without a path")
	}
}

// plainName is a name as libvirt gives pools, volumes and networks: no path, no room for confusion.
func plainName(name string) bool {
	return len(name) <= 255 && name != "." && name != ".." && !strings.Contains(name, "/") && strings.TrimSpace(name) == name
}

func (v *validator) nics(nics []NIC) {
	const list = "spec.template.nics"
	names, macs := map[string]int{}, map[string]int{}
	for i, n := range nics {
		at := FieldIndex(list, i)
		v.name(at+".name", n.Name, deviceName, deviceRemedy)
		v.unique(names, at+".name", n.Name, list, i)
		switch {
		case n.Network != "" && n.Bridge != "":
			v.add(at, "it has both a network and a bridge", "keep one of the two")
		case n.Network == "" && n.Bridge == "":
			v.add(at, "it is plugged into nothing", "give network (of libvirt) or bridge (of the host)")
		case n.Network != "":
			v.must(plainName(n.Network), at+".network", fmt.Sprintf("%q is not a network's name", n.Network), "write the name that virsh net-list shows")
		default:
			v.must(bridgeName.MatchString(n.Bridge), at+".bridge", fmt.Sprintf("%q is not an interface's name", n.Bridge), "write the bridge's name, e.g. br0")
		}
		v.mac(at+".mac", n.MAC)
		v.unique(macs, at+".mac", strings.ToLower(n.MAC), list, i)
		v.enum(at+".model", n.Model, "virtio", "e1000e", "rtl8139")
	}
}

func (v *validator) mac(field, mac string) {
	if mac == "" {
		return
	}
	if !v.must(macForm.MatchString(mac), field, fmt.Sprintf("%q is not a MAC address", mac), "write it like 52:54:00:12:34:56, or leave it out") {
		return
	}
	hw, err := net.ParseMAC(mac)
	switch {
	case err != nil:
		v.add(field, err.Error(), "")
	case hw[0]&1 == 1:
		v.add(field, mac+" is a multicast address, which no card can have", "make the first byte even, e.g. 52")
	case mac == "00:00:00:00:00:00":
		v.add(field, mac+" is no card's address", "leave it out to get one")
	}
}

func (v *validator) bootOrder(t *Template) {
	owner := map[int]string{}
	check := func(list string, i, order int) {
		at := FieldIndex(list, i)
		first, dup := owner[order]
		switch {
		case order == 0:
		case order < 0:
			v.add(at+".bootOrder", fmt.Sprintf("%d is out of range", order), "begin at 1")
		case dup:
			v.add(at+".bootOrder", fmt.Sprintf("%d is already the place of %s", order, first), "give each device a place of its own")
		default:
			owner[order] = at
		}
	}
	for i, d := range t.Disks {
		check("spec.template.disks", i, d.BootOrder)
	}
	for i, c := range t.CDROMs {
		check("spec.template.cdroms", i, c.BootOrder)
	}
	for i, n := range t.NICs {
		check("spec.template.nics", i, n.BootOrder)
	}
}
