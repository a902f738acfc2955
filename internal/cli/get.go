package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/table"
)

// getOptions are the flags of get.
type getOptions struct {
	// namespace to look in; empty means all.
	namespace     string
	allNamespaces bool
	selector      string
	output        format
	watch         bool
}

func newGet(a *app) *cobra.Command {
	o := &getOptions{output: formatTable}
	cmd := &cobra.Command{
		Use:   "get KIND [NAME...]",
		Short: "Show objects: vms, hosts, events, actions, clusterconfig",
		Long: `Show objects, one line each, or whole with -o yaml or -o json.

The kinds are vm (vms, virtualmachine), host (hosts), event (events), action (actions) and clusterconfig.
Names may also be given as vm/web.`,
		Example: `  holdfast get vms
  holdfast get vm web db -o wide
  holdfast get vms -A -l tier=front --watch
  holdfast get vm/web -o yaml`,
		Args:              args(1, -1, "the kind of object"),
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, words []string) error {
			kind, names, err := targets(words)
			if err != nil {
				return err
			}
			o.namespace = a.namespaceFor()
			if o.allNamespaces {
				o.namespace = ""
			}
			switch {
			case o.allNamespaces && len(names) > 0:
				return usageError("names need one namespace: leave -A away, or name it with -n")
			case o.selector != "" && len(names) > 0:
				return usageError("give names or a selector (-l), not both")
			case o.watch:
				return kind.follow(cmd.Context(), a, o, names)
			}
			return kind.print(cmd.Context(), a, o, names)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "look in all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "only objects with these labels (`SELECTOR`): key=value, key!=value, key, !key, with commas between")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on and show each change until interrupted")
	a.outputFlag(cmd, &o.output)
	return cmd
}

// print shows what is there now.
func (r *resource[T]) print(ctx context.Context, a *app, o *getOptions, names []string) error {
	if r.get == nil && len(names) > 0 {
		return usageError("%s are not looked up by name; %q shows those of one VM", r.plural, "holdfast events VM")
	}
	c := a.client()
	items, errs := r.fetch(ctx, c, o, names)
	if len(items) == 0 && len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := r.write(ctx, a, o, items, len(names) == 1 || r.list == nil); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (r *resource[T]) write(ctx context.Context, a *app, o *getOptions, items []T, single bool) error {
	switch o.output {
	case formatName:
		for i := range items {
			fmt.Fprintf(a.Out, "%s/%s\n", r.short, r.meta(&items[i]).Name)
		}
		return nil
	case formatJSON, formatYAML:
		if single {
			return encode(a.Out, o.output, &items[0])
		}
		if items == nil {
			items = []T{}
		}
		return encode(a.Out, o.output, &v1.List[T]{TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: r.kind + "List"}, Items: items})
	}
	if len(items) == 0 {
		where := ""
		if r.namespaced && o.namespace != "" {
			where = " in namespace " + o.namespace
		}
		fmt.Fprintf(a.Err, "No %s%s.\n", r.plural, where)
		return nil
	}
	v, err := r.view(ctx, a)
	if err != nil {
		return err
	}
	rows := make([][]string, len(items))
	for i := range items {
		rows[i] = r.row(o, &items[i], v)
	}
	return table.New(a.Out, r.headers(o)...).Write(rows...)
}

func (r *resource[T]) view(ctx context.Context, a *app) (*view, error) {
	v := &view{now: a.Now()}
	if r.look == nil {
		return v, nil
	}
	return v, r.look(ctx, a.client(), v)
}

func (r *resource[T]) headers(o *getOptions) []string {
	var headers []string
	if r.namespaced && o.namespace == "" {
		headers = append(headers, "NAMESPACE")
	}
	for _, c := range r.columns {
		if !c.wide || o.output == formatWide {
			headers = append(headers, c.header)
		}
	}
	return headers
}

func (r *resource[T]) row(o *getOptions, item *T, v *view) []string {
	var cells []string
	if r.namespaced && o.namespace == "" {
		cells = append(cells, dash(r.meta(item).Namespace))
	}
	for _, c := range r.columns {
		if !c.wide || o.output == formatWide {
			cells = append(cells, c.cell(item, v))
		}
	}
	return cells
}
