// Command cmd writes docs/manifest-reference.md. Run it in the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-vm/holdfast/internal/docgen"
)

func main() {
	text, err := docgen.Generate(os.DirFS("api/v1"))
	if err == nil {
		err = os.WriteFile(docgen.Output, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the manifest reference:", err)
		os.Exit(1)
	}
}
