package libvirt

import (
	"encoding/xml"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// namespace of Holdfast's element in a domain's metadata. The number changes when an older Holdfast could misread the element.
const namespace = "https://holdfast.dev/domain/1"

// identity is Holdfast's element in a domain's metadata: whose the domain is. It is part of the definition, so while a domain
// runs, libvirt keeps the one that it was started with.
type identity struct {
	XMLName    xml.Name `xml:"instance"`
	Xmlns      string   `xml:"xmlns,attr,omitempty"`
	ClusterUID string   `xml:"cluster,attr"`
	VMUID      string   `xml:"vm,attr"`
	InstanceID string   `xml:"id,attr"`
	Namespace  string   `xml:"namespace,attr"`
	Name       string   `xml:"name,attr"`
	// Seed is the volume that was made for this instance alone; nil when it has none.
	Seed *volumeRef `xml:"seed"`
}

// volumeRef names a volume of a storage pool.
type volumeRef struct {
	Pool   string `xml:"pool,attr"`
	Volume string `xml:"volume,attr"`
}

func identityOf(m hypervisor.Machine) identity {
	id := identity{
		Xmlns:      namespace,
		ClusterUID: m.ClusterUID, VMUID: m.VMUID, InstanceID: m.InstanceID,
		Namespace: m.Namespace, Name: m.Name,
	}
	if m.Template.CloudInit != nil {
		id.Seed = &volumeRef{Pool: m.Template.CloudInit.Pool, Volume: seedName(m)}
	}
	return id
}

// parseIdentity reads the element as libvirt gives it back. Something unreadable in our namespace is not ours to touch: it counts
// as foreign.
func parseIdentity(element string) identity {
	var id identity
	if err := xml.Unmarshal([]byte(element), &id); err != nil || id.VMUID == "" || id.InstanceID == "" {
		return identity{}
	}
	return id
}

// foreign reports whether the domain is not Holdfast's.
func (id identity) foreign() bool { return id.VMUID == "" }
