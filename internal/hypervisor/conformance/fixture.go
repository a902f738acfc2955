// Package conformance holds every implementation of the hypervisor port to the promises that hypervisor.go makes.
//
// It exists so that what is proved on simulated hosts means something on real ones: hypervisor/libvirt and hypervisor/sim run the
// same suite. A promise that only one of them can keep does not belong in the port; a detail of one of them (domain XML, virtual
// time) does not belong in the suite.
package conformance

import (
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Guest is what a guest does once it runs.
type Guest string

// The guests that the suite asks a Fixture for.
const (
	// Obedient runs, and shuts itself down when asked. It may miss a request early in its boot: the suite asks again.
	Obedient Guest = "obedient"
	// Deaf runs and ignores the power button.
	Deaf Guest = "deaf"
	// PowersOff shuts itself down soon after its start.
	PowersOff Guest = "powers-off"
	// Panics crashes soon after its start.
	Panics Guest = "panics"
	// Unstartable can be defined, but the host refuses to start it.
	Unstartable Guest = "unstartable"
)

// Fixture is one host that nobody else uses, and what the suite needs to play with it.
type Fixture struct {
	// Driver and URI reach the host.
	Driver hypervisor.Driver
	URI    string
	// Machine describes a machine that fits the host, of a VM and an instance that no earlier call has described.
	Machine func(t *testing.T, guest Guest) hypervisor.Machine
	// Foreign starts a domain that is not Holdfast's, and removes it when the test ends. It returns the domain's UUID.
	Foreign func(t *testing.T) string
	// Freeze stops the host from answering, without breaking a connection. Thaw lets it go on; calling it twice is harmless.
	// Nil skips what needs it.
	Freeze func(t *testing.T) (thaw func())
	// FreezeAtCreate makes the host freeze when the next request to start a domain has reached it, before it acts on it. Thaw as
	// for Freeze; then the host acts on the request. Nil skips what needs it.
	FreezeAtCreate func(t *testing.T) (thaw func())
	// Pool is a storage pool of the host's, for cloud-init's seed.
	Pool string
	// FreezeAtSeed makes the host freeze when the content of the next seed is on its way to it. Thaw as for Freeze. Nil skips what
	// needs it.
	FreezeAtSeed func(t *testing.T) (thaw func())
	// Cut breaks every connection to the host; new ones can be made at once. Nil skips what needs it.
	Cut func(t *testing.T)
	// CallTimeout is enough for one call on the host. Zero means 30 s.
	CallTimeout time.Duration
	// Patience is enough for a guest to boot and to do what it does. Zero means 60 s.
	Patience time.Duration
}

// Run runs the suite. The subtests run one after another on the one host.
func Run(t *testing.T, f Fixture) {
	if f.CallTimeout == 0 {
		f.CallTimeout = 30 * time.Second
	}
	if f.Patience == 0 {
		f.Patience = time.Minute
	}
	for _, test := range []struct {
		name string
		run  func(*bench)
	}{
		{"Facts", facts},
		{"DefineDoesNotStart", defineDoesNotStart},
		{"CreateStarts", createStarts},
		{"CreateTwice", createTwice},
		{"CreateRefused", createRefused},
		{"ShutdownIsObeyed", shutdownIsObeyed},
		{"ShutdownMayBeIgnored", shutdownMayBeIgnored},
		{"GuestPowersOff", guestPowersOff},
		{"GuestPanics", guestPanics},
		{"EndedTwice", endedTwice},
		{"OtherInstance", otherInstance},
		{"UnknownDomain", unknownDomain},
		{"DefinitionIsReplaced", definitionIsReplaced},
		{"ActiveIsNotRedefined", activeIsNotRedefined},
		{"UndefineRemoves", undefineRemoves},
		{"ForeignIsSeenNeverChanged", foreignIsSeenNeverChanged},
		{"ForeignIsNotReplaced", foreignIsNotReplaced},
		{"ManyCallsAtOnce", manyCallsAtOnce},
		{"CloseEndsEverything", closeEndsEverything},
		{"CutEndsEverything", cutEndsEverything},
		{"FrozenHost", frozenHost},
		{"ConnectToFrozenHost", connectToFrozenHost},
		{"LateCreate", lateCreate},
		{"FrozenWhileSeedIsWritten", frozenWhileSeedIsWritten},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newBench(t, f)) })
	}
}
