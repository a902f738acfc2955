package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/explain"
)

func newHost(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "host", Short: "Add and remove hosts, keep new instances away from them, and say that one is down"})
	cmd.AddCommand(newHostAdd(a), newHostRemove(a), newConfirmDown(a),
		newCordon(a, "cordon", "Keep new instances away from hosts; what runs there runs on", (*client.Client).CordonHost, "cordoned"),
		newCordon(a, "uncordon", "Let instances start on hosts again", (*client.Client).UncordonHost, "uncordoned"))
	return cmd
}

func newHostAdd(a *app) *cobra.Command {
	var labels map[string]string
	var reserved string
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "add NAME URI",
		Short: "Add a host that runs libvirt",
		Long: `Add a host: a machine that runs libvirt and QEMU. Nothing has to be installed on it. URI is where its libvirt listens, as
virsh takes it.`,
		Example: `  holdfast host add host1 qemu+ssh://root@host1/system --wait
  holdfast host add host2 qemu+tls://host2/system --label rack=b --reserved-memory 4Gi`,
		Args: args(2, 2, "the host's NAME or URI"),
		RunE: func(cmd *cobra.Command, words []string) error {
			host := &v1.Host{Metadata: v1.ObjectMeta{Name: words[0], Labels: labels}, Spec: v1.HostSpec{URI: words[1]}}
			if reserved != "" {
				memory, err := v1.ParseQuantity(reserved)
				if err != nil {
					return usageError("--reserved-memory: %s", err)
				}
				host.Spec.Reserved.Memory = memory
			}
			v1.SetDefaults(host)
			if wrong := v1.Validate(host); len(wrong) > 0 {
				return usageError("the host cannot be added: %s", wrong[0].Error())
			}
			c := a.client()
			if _, err := c.CreateHost(cmd.Context(), host); err != nil {
				return err
			}
			if !o.on {
				fmt.Fprintf(a.Out, "host/%s added\n", words[0])
				return nil
			}
			if err := a.awaitHosts(cmd.Context(), c, o.timeout, words[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "host/%s added and up\n", words[0])
			return nil
		},
	}
	cmd.Flags().StringToStringVar(&labels, "label", nil, "label of the host: `key=value`; may be repeated")
	cmd.Flags().StringVar(&reserved, "reserved-memory", "", "memory (`SIZE`) that is kept for the host itself and never promised, e.g. 4Gi")
	o.flags(cmd)
	return cmd
}

func newHostRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "remove HOST...",
		Short: "Make Holdfast forget hosts on which no virtual machine has anything",
		Long: `Make Holdfast forget hosts, as "holdfast delete host" does. It is refused while a virtual machine runs there or has left its
definition there; what was left on a host that is confirmed to be down does not count. A host that is Up must be cordoned first.
Nothing is changed on the host itself.`,
		Example: `  holdfast host cordon host3
  holdfast host remove host3`,
		Args:              args(1, -1, "the name of a host"),
		ValidArgsFunction: a.completeNames(&hostKind, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			var refs []v1.ObjectRef
			for _, w := range words {
				name, err := nameOf(&hostKind, w)
				if err != nil {
					return err
				}
				refs = append(refs, v1.ObjectRef{Kind: v1.KindHost, Name: name})
			}
			return a.delete(cmd.Context(), &deleteOptions{}, refs)
		},
	}
}

func hostWhy(h *v1.Host, now time.Time) string {
	answer := explain.Host(h, 0, now)
	return fmt.Sprintf("%s %s %s", answer.State, answer.Why, answer.Next)
}

func newCordon(a *app, verb, short string, do func(*client.Client, context.Context, string) (*v1.Host, error), done string) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " HOST...",
		Short:             short,
		Args:              args(1, -1, "the name of a host"),
		ValidArgsFunction: a.completeNames(&hostKind, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c := a.client()
			var errs []error
			for _, w := range words {
				name, err := nameOf(&hostKind, w)
				if err == nil {
					_, err = do(c, cmd.Context(), name)
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(a.Out, "host/%s %s\n", name, done)
			}
			return errors.Join(errs...)
		},
	}
}
