package lab_test

import (
	"testing"

	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

func TestProbeRemembersItsAnswer(t *testing.T) {
	labtest.Require(t)
	cache := t.TempDir()
	first, err := lab.ProbeKVM(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if first != lab.KVM && first != lab.TCG {
		t.Errorf("accelerator %q", first)
	}
	if again, err := lab.ProbeKVM(t.Context(), cache); err != nil || again != first {
		t.Errorf("asked again: %q, %v; first %q", again, err, first)
	}
}
