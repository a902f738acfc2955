package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the command reference and the golden files")

// The reference is what the program says. "go test ./internal/cli -run Reference -update" rewrites it.
func TestReferenceIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "docs", "cli-reference.md"), b.Bytes())
}

// golden compares with a file, or with -update rewrites it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the program says now: go test ./internal/cli -update rewrites it. Got:\n%s", path, got)
	}
}
