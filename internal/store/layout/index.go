package layout

import (
	"net/url"
	"path"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Claim is one index key that a VM owns: a disk it may write to, a MAC address, a UUID.
type Claim struct {
	Key string
	// Field of the manifest that claims it, e.g. "spec.template.disks[0]".
	Field string
	// What it is, for people: "disk shared/db.qcow2".
	What string
}

// ClaimOwner is the value of an index key.
type ClaimOwner struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Claims are the index keys of a VM, in the order of its manifest. They are owned by the VM's uid while its current spec, or one
// from which an instance may still be running, claims them.
func Claims(vm *v1.VirtualMachine) []Claim {
	var claims []Claim
	add := func(kind, id, field, what string) {
		claims = append(claims, Claim{Key: Index + kind + "/" + url.PathEscape(id), Field: field, What: what})
	}
	t := &vm.Spec.Template
	for i, d := range t.Disks {
		if d.ReadOnly || d.Shareable {
			continue
		}
		id := "path:" + path.Clean(d.Path)
		what := d.Path
		if d.Pool != "" {
			id, what = "pool:"+d.Pool+"/"+d.Volume, d.Pool+"/"+d.Volume
		}
		add("disk", id, v1.FieldIndex("spec.template.disks", i), "disk "+what)
	}
	for i, n := range t.NICs {
		mac := strings.ToLower(n.EffectiveMAC(vm.Metadata.UID))
		add("mac", mac, v1.FieldIndex("spec.template.nics", i)+".mac", "MAC address "+mac)
	}
	uuid := strings.ToLower(t.Firmware.UUID)
	if uuid == "" {
		uuid = vm.Metadata.UID
	}
	add("uuid", uuid, "spec.template.firmware.uuid", "UUID "+uuid)
	return claims
}
