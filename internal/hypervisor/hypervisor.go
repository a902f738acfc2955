// Package hypervisor is the port between Holdfast and the hosts: what the engine asks of a host and what it is told.
//
// It exists so that one core and one engine run against real libvirt (hypervisor/libvirt) and simulated hosts
// (hypervisor/sim); the conformance suite (hypervisor/conformance) holds both to the same promises. Nothing here decides.
package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Driver reaches hosts.
type Driver interface {
	// Connect reaches the host at uri. Every call on the connection is bounded by its context: a context that ends first
	// closes the connection, because a call that libvirt has not answered may block everything after it. An error says what is
	// wrong and what to do; that it is about connecting to uri is for the caller to say.
	Connect(ctx context.Context, uri string) (Conn, error)
}

// Conn is one connection to one host, good until it breaks: it is never reconnected, the engine makes a new one. Methods are
// safe for concurrent use. An error that Answered reports as true is the host's own; after any other error the call may still
// be carried out, even minutes later.
type Conn interface {
	// Facts describes the host.
	Facts(ctx context.Context) (Facts, error)
	// List returns every domain on the host, running or not, ours or not.
	List(ctx context.Context) ([]Domain, error)
	// Look returns one domain; false when the host has none with that UUID.
	Look(ctx context.Context, uuid string) (Domain, bool, error)
	// Events says which domain to look at again. It is closed when the connection is lost.
	Events() <-chan Event

	// Define makes the domain known to the host, without starting it; the VM's earlier definition is replaced. It makes what the
	// domain needs (cloud-init's seed). It refuses to replace the definition of a domain that is active (ErrActive), and a domain
	// with the same UUID that is foreign or another cluster's (HostError).
	Define(ctx context.Context, m Machine) error
	// Create starts the defined domain of that instance. A saved state of an earlier instance is never resumed. When the
	// instance runs already it returns nil.
	Create(ctx context.Context, uuid, instance string) error
	// Shutdown asks the guest to shut itself down (ACPI power button) and returns at once. A guest may ignore it. When the
	// instance is inactive already it returns nil.
	Shutdown(ctx context.Context, uuid, instance string) error
	// Destroy switches the guest off. The definition stays. When the instance is inactive already it returns nil.
	Destroy(ctx context.Context, uuid, instance string) error
	// Undefine removes the definition of an inactive domain and the seed that was made for it, and with state also its NVRAM and
	// TPM state. It never touches a disk. It refuses while the domain is active (ErrActive). A HostError about the seed means
	// that the definition is gone and the seed stays.
	Undefine(ctx context.Context, uuid, instance string, state bool) error

	// Close gives the connection up. Calls in flight fail.
	Close() error
}

// Create, Shutdown, Destroy and Undefine return ErrNotFound when the host has no such domain, and ErrOtherInstance when what
// it has under that UUID is not that instance, or a foreign domain; then nothing was done.
var (
	ErrNotFound      = errors.New("the host has no such domain")
	ErrOtherInstance = errors.New("the domain on the host is another instance")
	// ErrActive: the call needs an inactive domain.
	ErrActive = errors.New("the domain is active")
)

// HostError is what the host itself answered: the call is over and had no effect beyond what Look shows.
type HostError struct {
	// Op says what was being done, e.g. "create domain".
	Op string
	// Message is libvirt's own text.
	Message string
}

// Error implements error.
func (e *HostError) Error() string { return fmt.Sprintf("%s: %s", e.Op, e.Message) }

// Answered reports whether err is the host's own answer, so that the call is certainly over.
func Answered(err error) bool {
	var he *HostError
	return errors.As(err, &he) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrOtherInstance) || errors.Is(err, ErrActive)
}

// Machine is all that a host needs to know to define one instance.
type Machine struct {
	// ClusterUID, and the VM's and instance's identity, are written into the domain's metadata.
	ClusterUID string
	VMUID      string
	Namespace  string
	Name       string
	InstanceID string
	// MachineType with any alias resolved.
	MachineType string
	// CPUModel for a template that names none.
	CPUModel string
	// Template is the machine itself, with defaults applied.
	Template v1.Template
}

// DomainName is the name of the domain on its host: <namespace>.<name>.<first 8 digits of the uid>.
func (m Machine) DomainName() string { return m.Namespace + "." + m.Name + "." + m.VMUID[:8] }

// DomainState is what a domain is doing.
type DomainState string

// The states of a domain.
const (
	// DomainInactive: defined, not running.
	DomainInactive DomainState = "Inactive"
	// DomainRunning: its CPUs run.
	DomainRunning DomainState = "Running"
	// DomainPaused: it exists, its CPUs stand still.
	DomainPaused DomainState = "Paused"
)

// Why a domain is in its state: libvirt's reasons, as words. Others are passed on as libvirt spells them.
const (
	WhyShutdown  = "shutdown"  // inactive: the guest shut down (or QEMU got SIGTERM)
	WhyDestroyed = "destroyed" // inactive: switched off
	WhyCrashed   = "crashed"   // inactive: QEMU or the guest crashed
	WhyFailed    = "failed"    // inactive: it did not start
	WhySaved     = "saved"     // inactive: saved to a file by somebody
	WhyMigrated  = "migrated"  // inactive: it runs elsewhere
	WhyUnknown   = "unknown"   // inactive: never started, or the host forgot
	WhyIOError   = "ioerror"   // paused: a disk failed or is full
	WhyUser      = "user"      // paused: by somebody
	WhyStartup   = "startup"   // paused: about to run
	WhyIncoming  = "migration" // paused: a migration is on its way
)

// Domain is one domain as a host shows it.
type Domain struct {
	// UUID and Name as libvirt knows them.
	UUID, Name string
	// ClusterUID, VMUID and InstanceID from Holdfast's metadata; empty for a foreign domain.
	ClusterUID, VMUID, InstanceID string
	State                         DomainState
	// Why it is in that state.
	Why string
	// Memory in bytes and VCPUs of an active domain, for the ledger.
	Memory v1.Quantity
	VCPUs  int
}

// Event says that something happened to a domain.
type Event struct {
	// UUID of the domain to look at.
	UUID string
	// Ended is how the domain stopped, when the event tells: one of the Why constants, or "shutdown-guest" and
	// "shutdown-host" when libvirt says who shut it down. Reset: it did not stop, the guest was reset. Empty otherwise.
	Ended string
}

// Reset in Event.Ended: the guest rebooted, and the domain goes on. A host may tell it twice.
const Reset = "reset"

// Facts describe a host.
type Facts struct {
	// UUID of the host, from its libvirt.
	UUID string
	// Hostname as libvirt knows it.
	Hostname string
	// BootID changes with each boot of the machine; empty when it does not tell. Uptime is an estimate that is up to one
	// percent short; zero when there is none.
	BootID string
	Uptime time.Duration
	// Memory in bytes and CPUs of the machine.
	Memory v1.Quantity
	CPUs   int
	// LibvirtVersion and QEMUVersion, "major.minor.release".
	LibvirtVersion, QEMUVersion string
	// Accelerator is "kvm" or "tcg".
	Accelerator string
	// MachineTypes maps every machine type of the emulator to its canonical name: {"q35": "pc-q35-7.2", "pc-q35-7.2": "pc-q35-7.2"}.
	MachineTypes map[string]string
	// UEFI is true when the host has firmware for UEFI guests.
	UEFI bool
	// Pools are the active storage pools, Networks the active networks, both sorted.
	Pools, Networks []string
}
