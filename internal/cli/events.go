package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

func newEvents(a *app) *cobra.Command {
	o := &getOptions{output: formatTable}
	cmd := &cobra.Command{
		Use:   "events [VM]",
		Short: "Show what happened, the newest last",
		Long: `Show what happened to virtual machines and hosts and why, the newest last. The same thing again is one line with a count.
Events are kept for an hour.`,
		Example: `  holdfast events
  holdfast events web --watch
  holdfast events host/host1`,
		Args:              args(0, 1, ""),
		ValidArgsFunction: a.completeNames(&vmKind, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			o.namespace = a.namespaceFor()
			if o.allNamespaces {
				o.namespace = ""
			}
			about := client.EventOptions{}
			if len(words) == 1 {
				kind, names, err := subject(words[0])
				if err != nil {
					return err
				}
				about = client.EventOptions{Kind: kind.names().kind, Name: names}
				if kind == &hostKind {
					o.namespace = "" // hosts have none
				}
			}
			k := eventsAbout(about)
			if o.watch {
				return k.follow(cmd.Context(), a, o, nil)
			}
			return k.print(cmd.Context(), a, o, nil)
		},
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "of all namespaces, and of hosts")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on and show what happens until interrupted")
	a.outputFlag(cmd, &o.output)
	return cmd
}

// subject is what "web" or "host/host1" is about: a VM unless it says otherwise.
func subject(word string) (anyKind, string, error) {
	kind, names, err := targets([]string{word})
	var f *failure
	if errors.As(err, &f) || len(names) == 0 {
		return &vmKind, word, nil
	}
	return kind, names[0], nil
}

// eventsAbout is the kind of events, narrowed to those about one object.
func eventsAbout(about client.EventOptions) *resource[v1.Event] {
	k := eventKind
	k.list = func(ctx context.Context, c *client.Client, namespace string, _ client.ListOptions) (*v1.List[v1.Event], error) {
		return c.ListEvents(ctx, namespace, about)
	}
	k.watch = func(ctx context.Context, c *client.Client, namespace string, _ client.WatchOptions) client.Watch[v1.Event] {
		return c.WatchEvents(ctx, namespace, about)
	}
	return &k
}

// eventsOf reads the events of one object, the newest last.
func eventsOf(ctx context.Context, c *client.Client, ref v1.ObjectRef) ([]v1.Event, error) {
	list, err := c.ListEvents(ctx, ref.Namespace, client.EventOptions{Kind: ref.Kind, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	// A namesake that was deleted may have left events too.
	items := slices.DeleteFunc(list.Items, func(e v1.Event) bool { return e.Object.UID != "" && e.Object.UID != ref.UID })
	eventKind.sort(items)
	return items, nil
}
