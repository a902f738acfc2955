package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteReference writes the manual page of every command as one Markdown document: docs/cli-reference.md.
func WriteReference(w io.Writer) error {
	root := newRoot(newApp(Env{}))
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Command reference\n\n")
	b.WriteString("<!-- Generated from the program by `go test ./internal/cli -run Reference -update`. Do not edit. -->\n\n")
	fmt.Fprintf(&b, "%s\n\n", root.Long[:strings.Index(root.Long, "\n")])
	b.WriteString("Flags that every command takes:\n\n")
	flagTable(&b, root.PersistentFlags())
	b.WriteString("\n## Exit codes\n\n")
	b.WriteString(markdown(exitCodesHelp))
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			chapter(&b, cmd, 2)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func chapter(b *strings.Builder, cmd *cobra.Command, level int) {
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n", strings.Repeat("#", level), cmd.CommandPath(), cmd.Short)
	if cmd.HasSubCommands() {
		if cmd.Long != "" {
			fmt.Fprintf(b, "\n%s", markdown(cmd.Long))
		}
		if cmd.HasAvailablePersistentFlags() {
			b.WriteString("\n")
			flagTable(b, cmd.PersistentFlags())
		}
		for _, sub := range cmd.Commands() {
			chapter(b, sub, level+1)
		}
		return
	}
	fmt.Fprintf(b, "\n```\n%s\n```\n", cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n%s", markdown(cmd.Long))
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\n")
		flagTable(b, cmd.LocalNonPersistentFlags())
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", unindent(cmd.Example))
	}
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + strings.ReplaceAll(kind, "|", `\|`)
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(b, "| %s` | %s | %s |\n", name, value, strings.ReplaceAll(usage, "|", `\|`))
	})
}

// markdown turns a help text into Markdown: indented lines become code.
func markdown(help string) string {
	var b strings.Builder
	code := false
	for _, line := range strings.Split(strings.TrimSpace(help), "\n") {
		// The blank line before code stays outside it, and so does the one behind.
		if indented := strings.HasPrefix(line, "  "); indented != code {
			b.WriteString("```\n")
			code = indented
		}
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

func unindent(example string) string {
	lines := strings.Split(example, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
