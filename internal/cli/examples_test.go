package cli

import (
	"path/filepath"
	"testing"
)

// The examples are manifests that the server takes, one after another and all at once.
func TestExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "examples")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in %s: %v", dir, err)
	}
	w := newWorld(t)
	for _, f := range files {
		w.ok("apply", "-f", f, "--dry-run")
	}
	want := "vm/web created\nhost/host1 created\nclusterconfig/cluster configured\nvm/debian created\nvm/hello created\nvm/job created\n"
	if out := w.ok("apply", "-f", dir); out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}
