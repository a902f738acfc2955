package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/explain"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// Host writes the page about a host. vms are those with an instance on it, in the order of the page; events are those about it,
// the newest last.
func Host(w io.Writer, h *v1.Host, vms []v1.VirtualMachine, events []v1.Event, now time.Time) error {
	p := &page{w: w}
	p.field("Name", "%s", h.Metadata.Name)
	p.answer(explain.Host(h, len(vms), now))
	p.flush("")

	p.section("Object", func(p *page) {
		metadata(p, &h.Metadata, now)
		p.field("URI", "%s", h.Spec.URI)
		if h.Spec.StartLimit > 0 {
			p.field("Start limit", "%d", h.Spec.StartLimit)
		}
	})
	p.section("Machine", func(p *page) {
		st := &h.Status
		p.field("Host UUID", "%s", st.UUID)
		p.field("libvirt", "%s", st.LibvirtVersion)
		p.field("QEMU", "%s", st.QEMUVersion)
		p.field("Accelerator", "%s", st.Accelerator)
		p.field("Pools", "%s", strings.Join(st.Pools, ", "))
		p.field("Networks", "%s", strings.Join(st.Networks, ", "))
	})
	p.section("Connection", func(p *page) {
		st := &h.Status
		if !st.ConnectedAt.IsZero() {
			p.field("Connected", "%s", human.Ago(st.ConnectedAt, now))
		}
		if !st.LostAt.IsZero() {
			p.field("Lost last", "%s", human.Ago(st.LostAt, now))
		}
		if !st.RebootedAt.IsZero() {
			p.field("Reboot seen", "%s", human.Ago(st.RebootedAt, now))
		}
		if word := h.Spec.ConfirmedDown; word != nil {
			p.field("Confirmed down", "%s, by %s", human.Ago(word.At, now), cmp.Or(word.By, "somebody"))
		}
	})
	p.section("Capacity", func(p *page) { capacity(p, h, vms) })
	p.section("Virtual machines", func(p *page) {
		var rows [][]string
		for i := range vms {
			vm := &vms[i]
			in := vm.Status.Instance
			rows = append(rows, []string{vm.Metadata.Namespace, vm.Metadata.Name, vm.Status.PrintableStatus, fmt.Sprint(in.VCPUs), human.Bytes(in.Memory)})
		}
		p.rows([]string{"NAMESPACE", "NAME", "STATUS", "CPUS", "MEMORY"}, rows)
	})
	p.section("Events", func(p *page) { eventRows(p, events, now) })
	return p.err
}

// capacity compares what the host has with what it has promised to virtual machines.
func capacity(p *page, h *v1.Host, vms []v1.VirtualMachine) {
	if h.Status.Capacity == (v1.Resources{}) {
		return
	}
	var promised v1.Resources
	for i := range vms {
		promised.Memory += vms[i].Status.Instance.Memory
		promised.CPUs += vms[i].Status.Instance.VCPUs
	}
	total, reserved := h.Status.Capacity, h.Spec.Reserved
	overcommit := cmp.Or(h.Spec.CPUOvercommit, v1.DefaultCPUOvercommit)
	p.rows([]string{"", "HAS", "RESERVED", "PROMISED TO VMS"}, [][]string{
		{"memory", human.Bytes(total.Memory), human.Bytes(reserved.Memory), human.Bytes(promised.Memory)},
		{"CPUs", fmt.Sprintf("%d (%g virtual ones each)", total.CPUs, overcommit), fmt.Sprint(reserved.CPUs), fmt.Sprint(promised.CPUs)},
	})
}
