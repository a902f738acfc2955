package labtest

import (
	"flag"
	"testing"
)

// With -short nothing asks for a lab or a guest, whatever the machine can.
func TestShortSkips(t *testing.T) {
	before := flag.Lookup("test.short").Value.String()
	if err := flag.Set("test.short", "true"); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("test.short", before)
	for name, ask := range map[string]func(testing.TB){
		"Require": Require,
		"Guest":   func(t testing.TB) { Guest(t) },
		"Shared":  func(t testing.TB) { Shared(t, 1) },
	} {
		skipped := false
		t.Run(name, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			ask(t)
		})
		if !skipped {
			t.Errorf("%s does not skip a test with -short", name)
		}
	}
}
