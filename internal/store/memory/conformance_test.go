package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store/conformance"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

func open(_ *testing.T, ttl time.Duration) conformance.Store { return memory.New(memory.WithTTL(ttl)) }

// In virtual time, and with a check that no goroutine stays behind: a bubble ends only when all have.
func TestConformance(t *testing.T) {
	for _, c := range conformance.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { conformance.RunCase(t, c, open) })
		})
	}
}
