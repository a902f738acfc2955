package lab

import "testing"

func TestProbeRemembersItsAnswer(t *testing.T) {
	if err := Check(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	cache := t.TempDir()
	first, err := probeKVM(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if first != kvm && first != tcg {
		t.Errorf("accelerator %q", first)
	}
	if again, err := probeKVM(t.Context(), cache); err != nil || again != first {
		t.Errorf("asked again: %q, %v; first %q", again, err, first)
	}
}
