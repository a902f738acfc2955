package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

var eventKind = resource[v1.Event]{
	kindNames:  kindNames{kind: v1.KindEvent, short: "event", plural: "events", words: []string{"events", "ev"}},
	namespaced: true,
	meta:       func(e *v1.Event) *v1.ObjectMeta { return &e.Metadata },
	list: func(ctx context.Context, c *client.Client, namespace string, o client.ListOptions) (*v1.List[v1.Event], error) {
		return c.ListEvents(ctx, namespace, client.EventOptions{})
	},
	watch: func(ctx context.Context, c *client.Client, namespace string, o client.WatchOptions) client.Watch[v1.Event] {
		return c.WatchEvents(ctx, namespace, client.EventOptions{})
	},
	less: func(a, b *v1.Event) int { return a.LastAt.Compare(b.LastAt) },
	columns: []column[v1.Event]{
		{header: "LAST SEEN", ticks: true, cell: func(e *v1.Event, v *view) string { return human.Age(e.LastAt, v.now) }},
		{header: "COUNT", cell: func(e *v1.Event, _ *view) string { return fmt.Sprint(e.Count) }},
		{header: "TYPE", cell: func(e *v1.Event, _ *view) string { return e.Type }},
		{header: "REASON", cell: func(e *v1.Event, _ *view) string { return e.Reason }},
		{header: "OBJECT", cell: func(e *v1.Event, _ *view) string { return shortKind(e.Object.Kind) + "/" + e.Object.Name }},
		{header: "MESSAGE", cell: func(e *v1.Event, _ *view) string { return e.Message }},
	},
}

var actionKind = resource[v1.Action]{
	kindNames:  kindNames{kind: v1.KindAction, short: "action", plural: "actions", words: []string{"actions"}},
	namespaced: true,
	meta:       func(x *v1.Action) *v1.ObjectMeta { return &x.Metadata },
	get: func(ctx context.Context, c *client.Client, namespace, name string) (*v1.Action, error) {
		return c.GetAction(ctx, namespace, name)
	},
	list: func(ctx context.Context, c *client.Client, namespace string, o client.ListOptions) (*v1.List[v1.Action], error) {
		return c.ListActions(ctx, namespace)
	},
	less: func(a, b *v1.Action) int {
		return cmp.Or(a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp), strings.Compare(a.Metadata.Name, b.Metadata.Name))
	},
	columns: []column[v1.Action]{
		{header: "NAME", cell: func(x *v1.Action, _ *view) string { return x.Metadata.Name }},
		{header: "TYPE", cell: func(x *v1.Action, _ *view) string { return string(x.Spec.Type) }},
		{header: "VM", cell: func(x *v1.Action, _ *view) string { return x.Spec.VM }},
		{header: "PHASE", cell: func(x *v1.Action, _ *view) string { return cmp.Or(x.Status.Phase, v1.ActionPending) }},
		{header: "BY", wide: true, cell: func(x *v1.Action, _ *view) string { return dash(x.Spec.By) }},
		{header: "FORCE", wide: true, cell: func(x *v1.Action, _ *view) string { return fmt.Sprint(x.Spec.Force) }},
		{header: "AGE", ticks: true, cell: func(x *v1.Action, v *view) string { return human.Age(x.Metadata.CreationTimestamp, v.now) }},
		{header: "MESSAGE", cell: func(x *v1.Action, _ *view) string { return dash(cmp.Or(x.Status.Message, x.Status.Reason)) }},
	},
}

var configKind = resource[v1.ClusterConfig]{
	kindNames: kindNames{kind: v1.KindClusterConfig, short: "clusterconfig", plural: "cluster configurations", words: []string{"config"}},
	meta:      func(c *v1.ClusterConfig) *v1.ObjectMeta { return &c.Metadata },
	get: func(ctx context.Context, c *client.Client, _, name string) (*v1.ClusterConfig, error) {
		if name != "" && name != v1.ClusterConfigName {
			return nil, notFound("there is no cluster configuration %q: the only one is named %q", name, v1.ClusterConfigName)
		}
		return c.GetConfig(ctx)
	},
	columns: []column[v1.ClusterConfig]{
		{header: "NAME", cell: func(c *v1.ClusterConfig, _ *view) string { return c.Metadata.Name }},
		{header: "START LIMIT", cell: func(c *v1.ClusterConfig, _ *view) string { return orDefault(c.Spec.StartLimit.Cluster) }},
		{header: "PER HOST", cell: func(c *v1.ClusterConfig, _ *view) string { return orDefault(c.Spec.StartLimit.PerHost) }},
		{header: "START TIMEOUT", cell: func(c *v1.ClusterConfig, _ *view) string { return orDefault(c.Spec.StartTimeout) }},
		{header: "STOP GRACE", cell: func(c *v1.ClusterConfig, _ *view) string { return orDefault(c.Spec.StopGracePeriod) }},
		{header: "CPU MODEL", cell: func(c *v1.ClusterConfig, _ *view) string { return orDefault(c.Spec.BaselineCPUModel) }},
		{header: "AGE", ticks: true, cell: func(c *v1.ClusterConfig, v *view) string { return human.Age(c.Metadata.CreationTimestamp, v.now) }},
	},
}

// orDefault is a setting, or "default" when it is not set.
func orDefault[T comparable](setting T) string {
	var zero T
	if setting == zero {
		return "default"
	}
	return fmt.Sprint(setting)
}

// shortKind is how "vm/web" and its like name a kind.
func shortKind(kind string) string {
	if kind == v1.KindVirtualMachine {
		return "vm"
	}
	return strings.ToLower(kind)
}
