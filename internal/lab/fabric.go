package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
)

// The lab's switch is a bridge on this machine; each host's card is a veth pair with one end in it. The bridge is also what
// keeps labs apart: a lab's number is taken by making its bridge, which the kernel lets succeed once.

const labNumbers = 254

func bridgeName(number int) string      { return fmt.Sprintf("hflab%d", number) }
func portName(number, index int) string { return fmt.Sprintf("hflab%d-%d", number, index) }
func address(number, index int) string  { return fmt.Sprintf("10.78.%d.%d", number, index) }
func gateway(number int) string         { return fmt.Sprintf("10.78.%d.254", number) }

// bridgeMAC marks a bridge as that of the lab in dir.
func bridgeMAC(dir string) net.HardwareAddr { return hashMAC("bridge", dir) }

// hashMAC is a locally administered address that is the same each time for the same words.
func hashMAC(words ...string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return append(net.HardwareAddr{0x02}, sum[:5]...)
}

// bridgeIsOurs reports whether that number's bridge is there and belongs to the lab in dir.
func bridgeIsOurs(number int, dir string) bool {
	link, err := net.InterfaceByName(bridgeName(number))
	return err == nil && bytes.Equal(link.HardwareAddr, bridgeMAC(dir))
}

// makeBridge takes the first free number, keeps it in the state, and makes the bridge.
func (l *Lab) makeBridge(ctx context.Context) error {
	// Start at a number of the directory's own, so that labs made at once seldom race for the same.
	start := int(bridgeMAC(l.dir)[1])
	for i := range labNumbers {
		number := (start+i)%labNumbers + 1
		if used, err := networkInUse(number); err != nil {
			return err
		} else if used {
			continue
		}
		l.state.Number = number
		if err := l.state.write(l.dir); err != nil {
			return err
		}
		name := bridgeName(number)
		err := ip(ctx, "link", "add", "name", name, "address", bridgeMAC(l.dir).String(), "type", "bridge")
		if err != nil && strings.Contains(err.Error(), "File exists") {
			continue
		}
		if err == nil {
			err = ip(ctx, "addr", "add", gateway(number)+"/24", "dev", name)
		}
		if err == nil {
			err = ip(ctx, "link", "set", name, "up")
		}
		if err != nil {
			return fmt.Errorf("make the lab's bridge: %w", err)
		}
		return nil
	}
	return errors.New("all networks 10.78.1.0/24 to 10.78.254.0/24 are in use on this machine: take another lab down")
}

// networkInUse reports whether an interface of this machine has an address in, or around, that number's network.
func networkInUse(number int) (bool, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list this machine's addresses: %w", err)
	}
	ours := netip.MustParsePrefix(address(number, 0) + "/24")
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Overlaps(ours) {
			return true, nil
		}
	}
	return false, nil
}

// plugIn gives the network namespace of pid1 a card in the lab's switch, replacing one that a power cut left.
func (l *Lab) plugIn(ctx context.Context, h hostState, pid1 int) error {
	port := portName(l.state.Number, h.Index)
	if err := removeLink(ctx, port); err != nil {
		return err
	}
	err := ip(ctx, "link", "add", port, "type", "veth",
		"peer", "name", hostCard, "address", hashMAC("card", l.dir, h.Name).String(), "netns", fmt.Sprint(pid1))
	if err != nil {
		return err
	}
	return ip(ctx, "link", "set", port, "master", bridgeName(l.state.Number), "up")
}

// removeLinks removes the bridge of the lab in dir, under whichever number, and the hosts' cards.
func removeLinks(ctx context.Context, dir string) error {
	links, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list this machine's network interfaces: %w", err)
	}
	for _, bridge := range links {
		var number int
		if _, err := fmt.Sscanf(bridge.Name, "hflab%d", &number); err != nil || bridge.Name != bridgeName(number) {
			continue
		}
		if !bytes.Equal(bridge.HardwareAddr, bridgeMAC(dir)) {
			continue
		}
		for _, port := range links {
			if strings.HasPrefix(port.Name, bridge.Name+"-") {
				if err := removeLink(ctx, port.Name); err != nil {
					return err
				}
			}
		}
		if err := removeLink(ctx, bridge.Name); err != nil {
			return err
		}
	}
	return nil
}

// removeLink removes a network interface that may be gone already, or go by itself with its namespace meanwhile.
func removeLink(ctx context.Context, name string) error {
	err := ip(ctx, "link", "del", name)
	if err != nil && strings.Contains(err.Error(), "Cannot find device") {
		return nil
	}
	return err
}

// ip runs the command of that name; its complaint is the error.
func ip(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + searchPath}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
