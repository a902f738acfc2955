package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/describe"
)

func newDescribe(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe vm|host NAME...",
		Short: "Say what state a virtual machine or host is in, why, what happens next, and everything else about it",
		Long: `Say everything about a virtual machine (vm) or host (host). On top stand the answers to three questions: what state it is in,
why, and what happens next and when.`,
		Example: `  holdfast describe vm web
  holdfast describe host host1`,
		Args:              args(1, -1, "the kind of object"),
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, words []string) error {
			kind, names, err := targets(words)
			if err != nil {
				return err
			}
			one := map[anyKind]func(context.Context, *client.Client, string) error{&vmKind: a.describeVM, &hostKind: a.describeHost}[kind]
			if one == nil {
				return usageError("%s are not described; %q shows them whole", kind.names().plural, "holdfast get "+kind.names().short+" -o yaml")
			}
			if len(names) == 0 {
				return usageError("the name of a %s is missing", kind.names().short)
			}
			var errs []error
			for i, name := range names {
				if i > 0 {
					fmt.Fprintln(a.Out)
				}
				errs = append(errs, one(cmd.Context(), a.client(), name))
			}
			return errors.Join(errs...)
		},
	}
}

func (a *app) describeVM(ctx context.Context, c *client.Client, name string) error {
	vm, err := c.GetVM(ctx, a.namespaceFor(), name)
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, c, v1.RefTo(vm))
	if err != nil {
		return err
	}
	return describe.VM(a.Out, vm, events, a.explainView(ctx, c))
}

func (a *app) describeHost(ctx context.Context, c *client.Client, name string) error {
	host, err := c.GetHost(ctx, name)
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, c, v1.RefTo(host))
	if err != nil {
		return err
	}
	list, err := c.ListVMs(ctx, "", client.ListOptions{})
	if err != nil {
		return err
	}
	var on []v1.VirtualMachine
	vmKind.sort(list.Items)
	for i := range list.Items {
		if hostOf(&list.Items[i]) == name {
			on = append(on, list.Items[i])
		}
	}
	return describe.Host(a.Out, host, on, events, a.Now())
}
