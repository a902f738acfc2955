package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, e Env, args []string) int {
	root := newRoot(newApp(e))
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		report(e.Err, err)
	}
	return exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Keeps virtual machines running on a fleet of KVM hosts",
		Long: `Holdfast keeps virtual machines running on a fleet of KVM hosts.

Write down what should be, apply it, and ask how it is:

  holdfast apply -f web.yaml
  holdfast get vms
  holdfast describe vm web`,
	}
	group(root)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// "create -f x.yaml" is wrong for its command, not for its flag.
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return unknownCommand(cmd, words[0])
		}
		return usageError("%s; %q lists the flags", err, cmd.CommandPath()+" --help")
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.socket, "socket", "", fmt.Sprintf("`PATH` of the socket of the server (default $%s, else %s)", SocketVariable, DefaultSocket))
	flags.StringVarP(&a.namespace, "namespace", "n", "", "`NAMESPACE` of the virtual machines (default: default)")
	a.complete(root, "namespace", a.namespaces)

	root.AddGroup(
		&cobra.Group{ID: groupObjects, Title: "Objects:"},
		&cobra.Group{ID: groupPower, Title: "Virtual machines:"},
		&cobra.Group{ID: groupHosts, Title: "Hosts:"},
		&cobra.Group{ID: groupRun, Title: "Running Holdfast:"},
	)
	root.SetHelpCommandGroupID(groupRun)
	for _, c := range []struct {
		group string
		cmd   *cobra.Command
	}{
		{groupObjects, newApply(a)}, {groupObjects, newGet(a)}, {groupObjects, newDescribe(a)}, {groupObjects, newDelete(a)},
		{groupObjects, newEvents(a)},
		{groupPower, newStart(a)}, {groupPower, newStop(a)}, {groupPower, newRestart(a)},
		{groupHosts, newHost(a)},
		{groupRun, newServer(a)}, {groupRun, newLab(a)}, {groupRun, newVersion(a)}, {groupRun, newCompletion()},
	} {
		c.cmd.GroupID = c.group
		c.cmd.SuggestFor = habits[c.cmd.Name()]
		root.AddCommand(c.cmd)
	}
	root.AddCommand(newExitCodesTopic())
	return root
}

// habits are words that hands used to kubectl, virsh and their like type, and the command they mean here.
var habits = map[string][]string{
	"apply":    {"create", "define", "edit"},
	"get":      {"list", "ls", "show"},
	"describe": {"inspect", "info", "dominfo", "explain"},
	"delete":   {"undefine", "rm", "remove"},
	"start":    {"run", "boot", "resume"},
	"stop":     {"shutdown", "destroy", "poweroff"},
	"restart":  {"reboot", "reset"},
	"events":   {"logs"},
	"host":     {"cordon", "uncordon", "drain", "node"},
}

const (
	groupObjects = "objects"
	groupPower   = "power"
	groupHosts   = "hosts"
	groupRun     = "run"
)

// group makes a command that only holds others: alone it shows its help, and a word it does not know is a usage error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

// unknownCommand says that a word is no command of cmd, and what it may have meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("%q is no command of %q", word, cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		text += fmt.Sprintf(`; did you mean "%s"?`, strings.Join(near, `" or "`))
	} else {
		text += fmt.Sprintf("; %q lists them", cmd.CommandPath()+" --help")
	}
	return usageError("%s", text)
}

// args checks how many words follow the command; most < 0 means any number.
func args(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch {
		case len(given) < least:
			return usageError("%s is missing; usage: %s", what, cmd.UseLine())
		case most >= 0 && len(given) > most:
			return usageError("%q is too much; usage: %s", given[most], cmd.UseLine())
		}
		return nil
	}
}
