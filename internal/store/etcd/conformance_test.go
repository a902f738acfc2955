package etcd_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-vm/holdfast/internal/store/conformance"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

func TestMain(m *testing.M) {
	// These tests wait for disks and leases most of the time, not for a processor. The flag on the command line prevails.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, ttl time.Duration) conformance.Store {
	return start(t, etcd.Options{Dir: t.TempDir(), TTL: ttl})
}

func start(t *testing.T, o etcd.Options) *etcd.Store {
	t.Helper()
	st, err := etcd.StartEmbedded(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// long is a lease that would outlive the test's time limit, for tests that must not wait for it.
const long = time.Hour

func TestConformance(t *testing.T) { conformance.Run(t, open) }
