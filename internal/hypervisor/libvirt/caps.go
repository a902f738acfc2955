package libvirt

import (
	"context"
	"fmt"
	"slices"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// guestArch is the architecture of every guest. The devices in a domain (ISA serial port and panic device, virtio on PCI, SATA)
// are those of a PC.
const guestArch = "x86_64"

// hostCaps is what libvirt says the host can do.
type hostCaps struct {
	hostUUID string
	kvm      bool
	machines map[string]string // every machine type → its canonical name
	uefi     bool
}

// domainType is the kind of domain to define.
func (h *hostCaps) domainType() string {
	if h.kvm {
		return "kvm"
	}
	return "qemu"
}

// onceCaps asks once; a failed answer is not kept.
type onceCaps struct {
	asking gate
	known  *hostCaps
}

func (o *onceCaps) get(ctx context.Context, c *conn) (*hostCaps, error) {
	began := time.Now()
	if err := o.asking.enter(ctx); err != nil {
		return nil, unanswered(ctx, "get capabilities", began)
	}
	defer o.asking.leave()
	if o.known != nil {
		return o.known, nil
	}
	known, err := c.readCaps(ctx)
	if err == nil {
		o.known = known
	}
	return known, err
}

func (c *conn) readCaps(ctx context.Context) (*hostCaps, error) {
	var text string
	err := c.ask(ctx, "get capabilities", func(v *golibvirt.Libvirt) (err error) {
		text, err = v.ConnectGetCapabilities()
		return err
	})
	if err != nil {
		return nil, err
	}
	h, err := parseCaps(text)
	if err != nil {
		return nil, err
	}
	err = c.ask(ctx, "get domain capabilities", func(v *golibvirt.Libvirt) (err error) {
		text, err = v.ConnectGetDomainCapabilities(nil, golibvirt.OptString{guestArch}, nil, golibvirt.OptString{h.domainType()}, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.uefi, err = parseFirmware(text)
	return h, err
}

func parseCaps(text string) (*hostCaps, error) {
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("read the host's capabilities: %w", err)
	}
	h := &hostCaps{hostUUID: caps.Host.UUID, machines: map[string]string{}}
	for _, g := range caps.Guests {
		if g.Arch.Name != guestArch || g.OSType != "hvm" {
			continue
		}
		add := func(machines []libvirtxml.CapsGuestMachine) {
			for _, m := range machines {
				h.machines[m.Name] = m.Name
				if m.Canonical != "" {
					h.machines[m.Name] = m.Canonical
					h.machines[m.Canonical] = m.Canonical
				}
			}
		}
		add(g.Arch.Machines)
		for _, d := range g.Arch.Domains {
			h.kvm = h.kvm || d.Type == "kvm"
			add(d.Machines)
		}
	}
	return h, nil
}

// parseFirmware reports whether libvirt can choose UEFI firmware by itself.
func parseFirmware(text string) (uefi bool, err error) {
	var caps libvirtxml.DomainCaps
	if err := caps.Unmarshal(text); err != nil {
		return false, fmt.Errorf("read the host's domain capabilities: %w", err)
	}
	if caps.OS == nil {
		return false, nil
	}
	for _, e := range caps.OS.Enums {
		if e.Name == "firmware" && slices.Contains(e.Values, "efi") {
			return true, nil
		}
	}
	return false, nil
}
