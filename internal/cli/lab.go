package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli/table"
	"github.com/holdfast-vm/holdfast/internal/lab"
)

// DefaultLabDir is where the lab is unless told otherwise.
const DefaultLabDir = "/var/lib/holdfast-lab"

func newLab(a *app) *cobra.Command {
	dir := ""
	cmd := group(&cobra.Command{
		Use:   "lab",
		Short: "Real libvirt hosts on this one machine, to try things on",
		Long: `A lab is a few real libvirt hosts on this one machine, each in namespaces of its own. Guests really boot in it, and a host can
lose its power or its network, or hang, without anything getting hurt. It needs root.`,
	})
	cmd.PersistentFlags().StringVar(&dir, "dir", DefaultLabDir, "`DIR` that holds the lab")
	cmd.AddCommand(newLabUp(a, &dir), newLabDown(a, &dir), newLabStatus(a, &dir))
	for _, f := range []struct {
		verb, short, done string
		do                func(*lab.Lab, context.Context, string) error
	}{
		{"power-off", "Cut a host's power: all that runs there is gone at once", "is off", (*lab.Lab).PowerOff},
		{"power-on", "Switch a host on again", "is on", (*lab.Lab).PowerOn},
		{"freeze", "Stop a host's libvirtd, which then answers nothing; guests run on", "is frozen", atOnce((*lab.Lab).Freeze)},
		{"thaw", "Let a host's frozen libvirtd go on", "goes on", atOnce((*lab.Lab).Thaw)},
		{"unplug", "Pull a host's network cable; guests run on", "is unplugged", (*lab.Lab).Unplug},
		{"plug", "Plug a host's network cable in again", "is plugged in", (*lab.Lab).Plug},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:   f.verb + " HOST",
			Short: f.short,
			Args:  args(1, 1, "the name of a host of the lab"),
			ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(words) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return labHostNames(dir), cobra.ShellCompDirectiveNoFileComp
			},
			RunE: func(cmd *cobra.Command, words []string) error {
				l, err := openLab(dir)
				if err != nil {
					return err
				}
				if err := f.do(l, cmd.Context(), words[0]); err != nil {
					return labError(err)
				}
				fmt.Fprintf(a.Out, "host %s of the lab %s\n", words[0], f.done)
				return nil
			},
		})
	}
	return cmd
}

// atOnce is for what takes no time, and so no context.
func atOnce(do func(*lab.Lab, string) error) func(*lab.Lab, context.Context, string) error {
	return func(l *lab.Lab, _ context.Context, host string) error { return do(l, host) }
}

func newLabUp(a *app, dir *string) *cobra.Command {
	hosts, patience := 3, labPatience
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make a lab, and add its hosts to the server",
		Long: `Make a lab with that many hosts, add them to the server when one is running, and wait until it has them up. When the lab is up
already, only the hosts that the server does not know are added.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := filepath.Abs(*dir)
			if err != nil {
				return fmt.Errorf("find the lab's directory: %w", err)
			}
			l, err := lab.Open(path)
			if err != nil {
				fmt.Fprintf(a.Err, "Making a lab of %s in %s ...\n", hostCount(hosts), path)
				if l, err = lab.Up(cmd.Context(), lab.Options{Dir: path, Hosts: hosts}); err != nil {
					return labError(err)
				}
			}
			list, err := l.Hosts()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("hosts") && len(list) != hosts {
				return refused("a lab of %s is up in %s: take it down first (%q), or leave --hosts away", hostCount(len(list)), path, "holdfast lab down")
			}
			fmt.Fprintf(a.Out, "The lab is up in %s: %s, guests run on %s.\n", path, hostCount(len(list)), acceleratorWords[l.Accelerator()])
			return a.register(cmd.Context(), list, patience)
		},
	}
	cmd.Flags().IntVar(&hosts, "hosts", 3, "`NUMBER` of hosts")
	cmd.Flags().DurationVar(&patience, "timeout", labPatience, "give up waiting for the hosts to be up after this long; zero means never")
	return cmd
}

func hostCount(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}

var acceleratorWords = map[string]string{"kvm": "KVM", "tcg": "TCG (software emulation, because KVM does not work here)"}

// labPatience is how long the server may take to have the lab's hosts up, which is a matter of a second or two.
const labPatience = 2 * time.Minute

// register adds the lab's hosts to the server and waits for it to have them up, or says how to add them when none is running.
func (a *app) register(ctx context.Context, hosts []lab.Host, patience time.Duration) error {
	c := a.client()
	var errs []error
	var on []string
	for _, h := range hosts {
		host := &v1.Host{Metadata: v1.ObjectMeta{Name: h.Name, Labels: map[string]string{"lab": "true"}}, Spec: v1.HostSpec{URI: h.URI}}
		_, err := c.CreateHost(ctx, host)
		var connection *client.ConnectionError
		switch {
		case errors.As(err, &connection) && connection.NotRunning():
			fmt.Fprintf(a.Err, "No server is running at %s, so the hosts are not added to one. Start it with \"holdfast server\", "+
				"then \"holdfast lab up\" again adds them.\n", c.Socket())
			return nil
		case client.IsConflict(err):
			errs = append(errs, a.sameHost(ctx, c, h))
		case err != nil:
			errs = append(errs, err)
		default:
			fmt.Fprintf(a.Out, "host/%s added\n", h.Name)
		}
		if h.State == lab.On { // one that its user has switched off or cut off stays as it is
			on = append(on, h.Name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := a.awaitHosts(ctx, c, patience, on...); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "The server has %s of the lab up.\n", hostCount(len(on)))
	return nil
}

// sameHost makes sure that the host of that name on the server is the lab's.
func (a *app) sameHost(ctx context.Context, c *client.Client, h lab.Host) error {
	known, err := c.GetHost(ctx, h.Name)
	if err != nil {
		return err
	}
	if known.Spec.URI != h.URI {
		return refused("the server knows another host %s, at %s: delete that first, or use a server of its own for the lab", h.Name, known.Spec.URI)
	}
	fmt.Fprintf(a.Out, "host/%s is there already\n", h.Name)
	return nil
}

func newLabDown(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take the lab down, and leave nothing of it behind",
		Long: `Take the lab down, alive or dead, with its guests, disks and logs. The server still knows its hosts afterwards, as
Unreachable; "holdfast delete host NAME" removes them.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := filepath.Abs(*dir)
			if err != nil {
				return fmt.Errorf("find the lab's directory: %w", err)
			}
			if err := lab.Down(cmd.Context(), path); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "There is no lab in %s any more.\n", path)
			return nil
		},
	}
}

func newLabStatus(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the lab's hosts and what they are doing",
		Args:  args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := openLab(*dir)
			if err != nil {
				return err
			}
			hosts, err := l.Hosts()
			if err != nil {
				return err
			}
			rows := make([][]string, len(hosts))
			for i, h := range hosts {
				rows[i] = []string{h.Name, string(h.State), h.URI}
			}
			return table.New(a.Out, "NAME", "STATE", "URI").Write(rows...)
		},
	}
}

func openLab(dir string) (*lab.Lab, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the lab's directory: %w", err)
	}
	l, err := lab.Open(path)
	return l, labError(err)
}

// labError gives the lab's errors their exit codes.
func labError(err error) error {
	switch {
	case errors.Is(err, lab.ErrNoLab), errors.Is(err, lab.ErrNoHost):
		return &failure{code: ExitNotFound, text: err.Error(), err: err}
	case errors.Is(err, lab.ErrDead), errors.Is(err, lab.ErrExists):
		return &failure{code: ExitRefused, text: err.Error(), err: err}
	}
	return err
}

func labHostNames(dir string) []string {
	l, err := openLab(dir)
	if err != nil {
		return nil
	}
	hosts, err := l.Hosts()
	if err != nil {
		return nil
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names
}
