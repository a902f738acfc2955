package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/explain"
	"github.com/holdfast-vm/holdfast/internal/cli/table"
)

func newConfirmDown(a *app) *cobra.Command {
	var typed string
	cmd := &cobra.Command{
		Use:   "confirm-down HOST",
		Short: "Vouch for an unreachable host being down, so that its virtual machines start elsewhere",
		Long: `Vouch for an unreachable host being down. Holdfast cannot tell a dead host from one that is cut off, so nothing that it ran
starts elsewhere until a person who knows says that it runs nothing.

It shows what will start elsewhere and what will stay off, and wants the host's name: typed at the terminal, or with --confirm.
Without either nothing is done, so the same command shows what would happen.

If the host is not down, its virtual machines run twice, and disks that two guests write to are destroyed.`,
		Example: `  holdfast host confirm-down host1
  holdfast host confirm-down host1 --confirm host1`,
		Args:              args(1, 1, "the name of a host"),
		ValidArgsFunction: a.completeNames(&hostKind, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			name, err := nameOf(&hostKind, words[0])
			if err != nil {
				return err
			}
			if typed != "" && typed != name {
				return usageError("--confirm %s: the host is named %s; nothing was done", typed, name)
			}
			return a.confirmDown(cmd.Context(), name, typed != "")
		},
	}
	cmd.Flags().StringVar(&typed, "confirm", "", "the host's `NAME` once more, for scripts: it is down")
	return cmd
}

func (a *app) confirmDown(ctx context.Context, name string, confirmed bool) error {
	c := a.client()
	host, err := c.GetHost(ctx, name)
	if err != nil {
		return err
	}
	if host.Status.State != v1.HostUnreachable {
		return a.notDown(host)
	}
	list, err := c.ListVMs(ctx, "", client.ListOptions{})
	if err != nil {
		return err
	}
	vmKind.sort(list.Items)
	if err := a.showLoss(host, list.Items); err != nil {
		return err
	}
	if !confirmed {
		if err := a.typeName(ctx, name); err != nil {
			return err
		}
	}
	if host, err = c.ConfirmHostDown(ctx, name); err != nil {
		return err
	}
	return a.seeFenced(ctx, c, host)
}

// notDown says why the host cannot be vouched for, and what to do.
func (a *app) notDown(h *v1.Host) error {
	next := fmt.Sprintf(`If it has just gone down, wait until "holdfast get host %s" says Unreachable. To keep new instances away: "holdfast host cordon %s".`,
		h.Metadata.Name, h.Metadata.Name)
	if h.Status.State != v1.HostUp && h.Status.State != v1.HostRefused {
		next = "Wait until it is Up or Unreachable."
	}
	answer := explain.Host(h, 0, a.Now())
	return refused("host/%s cannot be confirmed to be down: it is not Unreachable. %s %s %s", h.Metadata.Name, answer.State, answer.Why, next)
}

// showLoss lists what the word sets going, and what it means if it is false.
func (a *app) showLoss(h *v1.Host, vms []v1.VirtualMachine) error {
	answer := explain.Host(h, 0, a.Now())
	fmt.Fprintf(a.Out, "host/%s: %s %s\n", h.Metadata.Name, answer.State, answer.Why)
	var start, stay [][]string
	for i := range vms {
		loss, touched := explain.AfterLoss(&vms[i], h)
		row := []string{vms[i].Metadata.Namespace, vms[i].Metadata.Name, loss.Why}
		switch {
		case !touched:
		case loss.Starts:
			start = append(start, row)
		default:
			stay = append(stay, row)
		}
	}
	for _, group := range []struct {
		heading string
		rows    [][]string
	}{{"These will start elsewhere, wherever there is room:", start}, {"These end, and stay off:", stay}} {
		if len(group.rows) == 0 {
			continue
		}
		fmt.Fprintf(a.Out, "\n%s\n", group.heading)
		if err := table.New(a.Out, "NAMESPACE", "NAME", "BECAUSE").Write(group.rows...); err != nil {
			return err
		}
	}
	if len(start)+len(stay) == 0 {
		fmt.Fprintln(a.Out, "\nNo virtual machine is known to be on it: nothing will start elsewhere.")
		return nil
	}
	fmt.Fprintf(a.Out, `
If %s is NOT down, but only cut off or its libvirt hangs, what starts elsewhere runs twice, and every disk that two guests write to
is destroyed. When the host answers again, whatever it still runs of these is switched off at once. Holdfast cannot tell the
difference: look at the machine, or switch it off, before you go on.
`, h.Metadata.Name)
	return nil
}

// typeName lets the person at the terminal type the host's name.
func (a *app) typeName(ctx context.Context, name string) error {
	if !a.Interactive {
		return usageError("nothing was done: say that %s is down with --confirm %s", name, name)
	}
	fmt.Fprintf(a.Err, "\nType the host's name to say that it is down: ")
	line := make(chan string, 1)
	go func() { // a read of a terminal cannot be interrupted; Ctrl-C ends the program
		text, _ := bufio.NewReader(a.In).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return &failure{code: ExitInterrupted, text: "interrupted: nothing was done"}
	case text := <-line:
		if text != name {
			return refused("nothing was done: %q is not %q", text, name)
		}
	}
	return nil
}

// seeFenced waits a little for what the control plane makes of the word.
func (a *app) seeFenced(ctx context.Context, c *client.Client, h *v1.Host) error {
	name, word := h.Metadata.Name, h.Spec.ConfirmedDown
	ctx, cancel := context.WithTimeout(ctx, a.AnswerTimeout)
	defer cancel()
	h, err := c.WaitHost(ctx, name, func(h *v1.Host) (bool, error) {
		if h == nil {
			return false, notFound("host/%s was removed meanwhile", name)
		}
		return h.Status.State != v1.HostUnreachable || !h.Status.WordAt.Before(word.At), nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintf(a.Out, "\nhost/%s: accepted; the control plane has not acted on it yet\n", name)
	case err != nil:
		return err
	case h.Status.State != v1.HostUnreachable:
		return refused("host/%s has answered meanwhile: nothing of it was given up", name)
	default:
		fmt.Fprintf(a.Out, "\nhost/%s is taken for down; \"holdfast get vms -A\" shows how its virtual machines are getting on\n", name)
	}
	return nil
}
