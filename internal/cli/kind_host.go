package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

var hostKind = resource[v1.Host]{
	kindNames: kindNames{kind: v1.KindHost, short: "host", plural: "hosts", words: []string{"hosts"}},
	meta:      func(h *v1.Host) *v1.ObjectMeta { return &h.Metadata },
	get: func(ctx context.Context, c *client.Client, _, name string) (*v1.Host, error) {
		return c.GetHost(ctx, name)
	},
	list: func(ctx context.Context, c *client.Client, _ string, o client.ListOptions) (*v1.List[v1.Host], error) {
		return c.ListHosts(ctx, o)
	},
	watch: func(ctx context.Context, c *client.Client, _ string, o client.WatchOptions) client.Watch[v1.Host] {
		return c.WatchHosts(ctx, o)
	},
	look: lookAtPromises,
	columns: []column[v1.Host]{
		{header: "NAME", cell: func(h *v1.Host, _ *view) string { return h.Metadata.Name }},
		{header: "STATE", cell: func(h *v1.Host, _ *view) string { return hostState(h) }},
		{header: "SCHEDULABLE", cell: func(h *v1.Host, _ *view) string {
			if h.Spec.Unschedulable {
				return "no"
			}
			return "yes"
		}},
		{header: "CPUS", cell: func(h *v1.Host, v *view) string {
			return fmt.Sprintf("%d/%s", v.promised[h.Metadata.Name].cpus, known(h.Status.Capacity.CPUs, strconv.Itoa))
		}},
		{header: "MEMORY", cell: func(h *v1.Host, v *view) string {
			return human.Bytes(v.promised[h.Metadata.Name].memory) + "/" + known(h.Status.Capacity.Memory, human.Bytes)
		}},
		{header: "VMS", cell: func(h *v1.Host, v *view) string { return fmt.Sprint(v.promised[h.Metadata.Name].vms) }},
		{header: "LIBVIRT", wide: true, cell: func(h *v1.Host, _ *view) string { return dash(h.Status.LibvirtVersion) }},
		{header: "QEMU", wide: true, cell: func(h *v1.Host, _ *view) string { return dash(h.Status.QEMUVersion) }},
		{header: "ACCELERATOR", wide: true, cell: func(h *v1.Host, _ *view) string { return dash(h.Status.Accelerator) }},
		{header: "URI", wide: true, cell: func(h *v1.Host, _ *view) string { return h.Spec.URI }},
		{header: "AGE", ticks: true, cell: func(h *v1.Host, v *view) string { return human.Age(h.Metadata.CreationTimestamp, v.now) }},
		{header: "WHY", wide: true, cell: func(h *v1.Host, _ *view) string { return whyNotUp(h) }},
	},
}

// lookAtPromises counts what the VMs of all namespaces take on each host.
func lookAtPromises(ctx context.Context, c *client.Client, v *view) error {
	list, err := c.ListVMs(ctx, "", client.ListOptions{})
	if err != nil {
		return err
	}
	v.promised = promises(list.Items)
	return nil
}

func promises(vms []v1.VirtualMachine) map[string]promise {
	m := map[string]promise{}
	for i := range vms {
		in := vms[i].Status.Instance
		if in == nil {
			continue
		}
		p := m[in.Host]
		p.vms++
		p.memory += in.Memory
		p.cpus += in.VCPUs
		m[in.Host] = p
	}
	return m
}

// known is a capacity as text; "?" for one that is not known yet.
func known[T int | v1.Quantity](capacity T, text func(T) string) string {
	if capacity == 0 {
		return "?"
	}
	return text(capacity)
}

func hostState(h *v1.Host) string { return string(cmp.Or(h.Status.State, v1.HostConnecting)) }

// whyNotUp is what keeps a host from being used, on one line.
func whyNotUp(h *v1.Host) string {
	if h.Status.State == v1.HostUp {
		return "-"
	}
	return dash(strings.Join(strings.Fields(cmp.Or(h.Status.Message, h.Status.Reason)), " "))
}
