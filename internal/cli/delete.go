package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/progress"
)

// deleteOptions are the flags of delete.
type deleteOptions struct {
	files []string
	force bool
	wait  waitOptions
}

func newDelete(a *app) *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete KIND NAME... | -f FILE",
		Short: "Delete virtual machines and hosts",
		Long: `Delete virtual machines (vm) and hosts (host), by name or as manifests list them.

The guest of a VM is asked to shut itself down first, as by "holdfast stop". Disks are never deleted. A VM whose host is out of
reach stays Terminating until the host answers.`,
		Example: `  holdfast delete vm web db --wait
  holdfast delete -f web.yaml
  holdfast delete host host3`,
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, words []string) error {
			refs, err := a.toDelete(o, words)
			if err != nil {
				return err
			}
			return a.delete(cmd.Context(), o, refs)
		},
	}
	a.fileFlag(cmd, &o.files)
	cmd.Flags().BoolVar(&o.force, "force", false, "switch guests off now, without asking them to shut down")
	o.wait.flags(cmd)
	return cmd
}

// toDelete names the objects meant, by the command line or by manifests; those of manifests in reverse, so that what was made
// last goes first.
func (a *app) toDelete(o *deleteOptions, words []string) ([]v1.ObjectRef, error) {
	var refs []v1.ObjectRef
	switch {
	case len(o.files) > 0 && len(words) > 0:
		return nil, usageError("name objects or give manifests (-f), not both")
	case len(o.files) > 0:
		manifests, err := a.readManifests(o.files)
		if err != nil {
			return nil, err
		}
		documents, err := v1.Decoder{Namespace: a.namespace}.DecodeFiles(manifests...)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			refs = append(refs, v1.RefTo(d.Object))
		}
		slices.Reverse(refs)
	case len(words) == 0:
		return nil, usageError("say what to delete: %q", "holdfast delete vm NAME")
	default:
		kind, names, err := targets(words)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, usageError("the name of a %s is missing", kind.names().short)
		}
		for _, n := range names {
			refs = append(refs, v1.ObjectRef{Kind: kind.names().kind, Namespace: a.namespaceFor(), Name: n})
		}
	}
	for _, r := range refs {
		if r.Kind != v1.KindVirtualMachine && r.Kind != v1.KindHost {
			return nil, usageError("%s/%s cannot be deleted: only virtual machines and hosts can", shortKind(r.Kind), r.Name)
		}
	}
	return refs, nil
}

func (a *app) delete(ctx context.Context, o *deleteOptions, refs []v1.ObjectRef) error {
	c := a.client()
	errs := make([]error, len(refs))
	var waits []func(context.Context, teller)
	var names []string
	for i, ref := range refs {
		name := shortKind(ref.Kind) + "/" + ref.Name
		if ref.Kind == v1.KindHost {
			if _, errs[i] = c.DeleteHost(ctx, ref.Name); errs[i] == nil {
				fmt.Fprintf(a.Out, "%s deleted\n", name)
			}
			continue
		}
		vm, err := c.DeleteVM(ctx, ref.Namespace, ref.Name, client.DeleteOptions{Force: o.force})
		if errs[i] = err; err != nil {
			continue
		}
		if !o.wait.on {
			fmt.Fprintf(a.Out, "%s is being deleted\n", name)
			continue
		}
		names = append(names, name)
		waits = append(waits, func(ctx context.Context, p teller) { errs[i] = a.awaitGone(ctx, c, o, vm, p) })
	}
	ctx, cancel := o.wait.context(ctx)
	defer cancel()
	p := progress.New(a.Err, a.Width, names...)
	var all sync.WaitGroup
	for _, wait := range waits {
		all.Go(func() { wait(ctx, p) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// awaitGone waits until that very VM no longer exists.
func (a *app) awaitGone(ctx context.Context, c *client.Client, o *deleteOptions, vm *v1.VirtualMachine, p teller) error {
	name := "vm/" + vm.Metadata.Name
	last, err := c.WaitVM(ctx, vm.Metadata.Namespace, vm.Metadata.Name, func(now *v1.VirtualMachine) (bool, error) {
		if now == nil || now.Metadata.UID != vm.Metadata.UID {
			return true, nil
		}
		p.Say(name, a.briefly(now))
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return a.gaveUp(c, last, vm.Metadata.Name, o.wait.timeout)
	}
	if err == nil {
		fmt.Fprintf(a.Out, "%s deleted\n", name)
	}
	return err
}
