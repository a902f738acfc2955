package v1

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// EffectiveMAC is the card's MAC address: the manifest's, or one derived from the VM's uid and the card's name. A derived one is
// locally administered and unicast, its other 46 bits are a SHA-256 hash: it stays the same for the VM's whole life.
func (n NIC) EffectiveMAC(vmUID string) string {
	if n.MAC != "" {
		return n.MAC
	}
	h := sha256.Sum256([]byte(vmUID + "/" + n.Name))
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", h[0]&^1|2, h[1], h[2], h[3], h[4], h[5])
}

// FieldIndex writes the path of a list's element, as errors name it: "spec.template.disks[0]".
func FieldIndex(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
