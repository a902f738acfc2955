package cli

import (
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// What a press of the Tab key offers, asked for as the shells' scripts do.
func TestCompletion(t *testing.T) {
	w := newWorld(t)
	w.vm("web", v1.RunManual)
	w.vm("db", v1.RunManual)
	w.host("host1", v1.HostStatus{})
	w.apply(strings.Replace(goodVM, "name: good", "name: good, namespace: prod", 1))
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"get", ""}, "vm host event action clusterconfig"},
		{[]string{"get", "vm", ""}, "db web"},
		{[]string{"get", "vm", "web", ""}, "db"},
		{[]string{"get", "vm", "-n", "prod", ""}, "good"},
		{[]string{"get", "vms", "-n", ""}, "default prod"},
		{[]string{"get", "vms", "-o", ""}, "table wide json yaml name"},
		{[]string{"describe", "host", ""}, "host1"},
		{[]string{"delete", "vm", ""}, "db web"},
		{[]string{"start", ""}, "db web"},
		{[]string{"stop", "db", ""}, "web"},
		{[]string{"events", ""}, "db web"},
		{[]string{"events", "web", ""}, ""},
		{[]string{"host", "uncordon", ""}, "host1"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"lab", "freeze", "--dir", t.TempDir(), ""}, ""},
		{[]string{"start", "--socket", t.TempDir() + "/none", ""}, ""},
	} {
		r := w.run(append([]string{"__complete"}, c.line...)...)
		var got []string
		for _, line := range strings.Split(r.out, "\n") {
			if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
		if !strings.Contains(r.out, ":4\n") {
			t.Errorf("%q: the shell is asked to offer files: %s", c.line, r.out)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	w := newWorld(t)
	for shell, sign := range map[string]string{"bash": "complete -o default", "zsh": "#compdef holdfast", "fish": "complete -c holdfast"} {
		if out := w.ok("completion", shell); !strings.Contains(out, sign) {
			t.Errorf("%s's script does not contain %q", shell, sign)
		}
	}
}
