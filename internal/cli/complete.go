package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-vm/holdfast/client"
)

// completionTimeout bounds what a press of the Tab key may wait for the server.
const completionTimeout = 2 * time.Second

// complete makes fn the completion of a flag.
func (a *app) complete(cmd *cobra.Command, flag string, fn cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(fmt.Sprintf("cli: complete --%s: %v", flag, err)) // the flag is misspelt in this package
	}
}

// fixed completes to words known beforehand.
func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// names are the names of the objects of a kind. Without a server there are none, and the shell says nothing.
func (a *app) objects(cmd *cobra.Command, kind anyKind) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	names, err := kind.objectNames(ctx, a.client(), a.namespaceFor())
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return names
}

// completeTargets completes "KIND NAME...".
func (a *app) completeTargets(cmd *cobra.Command, words []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(words) == 0 {
		var all []string
		for _, k := range kinds {
			n := k.names()
			all = append(all, cobra.CompletionWithDesc(n.short, n.plural))
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	kind, named, err := targets(words)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return without(a.objects(cmd, kind), named), cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes names of one kind, at most most of them (< 0: any number).
func (a *app) completeNames(kind anyKind, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, words []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most >= 0 && len(words) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return without(a.objects(cmd, kind), words), cobra.ShellCompDirectiveNoFileComp
	}
}

// namespaces completes to the namespaces that have virtual machines.
func (a *app) namespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	list, err := a.client().ListVMs(ctx, "", client.ListOptions{})
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var spaces []string
	for i := range list.Items {
		spaces = append(spaces, list.Items[i].Metadata.Namespace)
	}
	slices.Sort(spaces)
	return slices.Compact(spaces), cobra.ShellCompDirectiveNoFileComp
}

func without(names, taken []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(taken, n) })
}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Write the shell's completion script",
		Long: `Write the script that teaches a shell to complete commands, flags and the names of objects on the server.

  bash   source <(holdfast completion bash)          or save it in /etc/bash_completion.d/holdfast
  zsh    source <(holdfast completion zsh)           or save it as _holdfast in a directory of $fpath
  fish   holdfast completion fish | source           or save it as ~/.config/fish/completions/holdfast.fish

In bash it needs the package bash-completion.`,
		Args:      args(1, 1, "the shell"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, words []string) error {
			out := cmd.OutOrStdout()
			switch words[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			}
			return usageError("%q is no shell that completion is there for; there are bash, zsh, fish", words[0])
		},
	}
}
