package v1

import "strings"

// SetDefaults fills the fields that were left empty and whose default is always the same. Where a default comes from the
// cluster's configuration the field stays zero, so that a change of the configuration reaches the VM. Doing it again changes
// nothing.
func SetDefaults(o Object) {
	o.GetTypeMeta().APIVersion = APIVersion
	switch o := o.(type) {
	case *VirtualMachine:
		o.Kind = KindVirtualMachine
		setDefault(&o.Metadata.Namespace, DefaultNamespace)
		if o.Spec.Running == nil {
			setDefault(&o.Spec.RunStrategy, RunAlways)
		}
		setTemplateDefaults(&o.Spec.Template)
	case *Host:
		o.Kind = KindHost
		setDefault(&o.Spec.CPUOvercommit, DefaultCPUOvercommit)
	case *ClusterConfig:
		o.Kind = KindClusterConfig
		setDefault(&o.Metadata.Name, ClusterConfigName)
	}
}

// DefaultCPUOvercommit is how many virtual CPUs are promised for each of a host's, unless the host says otherwise.
const DefaultCPUOvercommit = 4.0

func setTemplateDefaults(t *Template) {
	setDefault(&t.CPU.Sockets, 1)
	setDefault(&t.CPU.Cores, 1)
	setDefault(&t.CPU.Threads, 1)
	for i := range t.CPU.Features {
		setDefault(&t.CPU.Features[i].Policy, "require")
	}
	setDefault(&t.Machine.Type, "q35")
	setDefault(&t.Firmware.Type, FirmwareBIOS)
	for i := range t.Disks {
		d := &t.Disks[i]
		setDefault(&d.Bus, BusVirtio)
		format := FormatRaw
		if strings.HasSuffix(d.Path, ".qcow2") || strings.HasSuffix(d.Volume, ".qcow2") {
			format = FormatQcow2
		}
		setDefault(&d.Format, format)
	}
	for i := range t.NICs {
		setDefault(&t.NICs[i].Model, "virtio")
	}
	for _, p := range []**bool{&t.RNG, &t.PanicDevice, &t.GuestAgent} {
		if *p == nil {
			yes := true
			*p = &yes
		}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// The buses and formats of disks.
const (
	BusVirtio   = "virtio"
	BusSCSI     = "scsi"
	BusSATA     = "sata"
	FormatRaw   = "raw"
	FormatQcow2 = "qcow2"
)
