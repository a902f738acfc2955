package core

import (
	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Event is one observation, request or result that the core is told about with Step.
type Event interface{ isEvent() }

// VMKey names a VM.
type VMKey struct{ Namespace, Name string }

// String is "namespace/name".
func (k VMKey) String() string { return k.Namespace + "/" + k.Name }

type (
	// VMChanged: a VM was created or its spec, labels or deletion timestamp changed. Status counts only while loading a term.
	VMChanged struct{ VM *v1.VirtualMachine }
	// VMOldRevisions: the store keeps specs of older generations of this VM, left by edits.
	VMOldRevisions struct {
		Key VMKey
		// Oldest generation that is kept.
		Oldest int64
	}
	// HostChanged: a host was added or its spec changed. Status counts only while loading a term.
	HostChanged struct{ Host *v1.Host }
	// HostRemoved: the host's object is gone.
	HostRemoved struct{ Name string }
	// ConfigChanged: the cluster's configuration.
	ConfigChanged struct{ Config *v1.ClusterConfig }
	// ActionPosted: a user asks for something; also each action found while loading.
	ActionPosted struct{ Action *v1.Action }
	// Loaded: everything in the store has been told; decisions may begin. Grace is how long a call of the previous leader may
	// still be on its way: until then nothing is unbound.
	Loaded struct{ Grace v1.Duration }

	// HostConnected: a new connection to a host, with what it showed. Epoch grows with each connection of the term.
	HostConnected struct {
		Host    string
		Epoch   int64
		Facts   hypervisor.Facts
		Listing HostListed
	}
	// HostLost: the connection of that epoch is gone, or (epoch of the last connection, or zero) a try to connect failed.
	HostLost struct {
		Host  string
		Epoch int64
		Err   string
		// Unreachable: it has been silent for as long as the engine waits before it says so.
		Unreachable bool
	}
	// HostListed: all domains on the host. Seq was drawn before the listing began, from the host's counter that results of
	// commands draw from too: a listing says nothing about commands with a higher number.
	HostListed struct {
		Host    string
		Epoch   int64
		Seq     int64
		Domains []hypervisor.Domain
	}
	// DomainSeen: one domain was looked at, because of an event or on request.
	DomainSeen struct {
		Host  string
		Epoch int64
		// Seq was drawn before the look.
		Seq  int64
		UUID string
		// Domain is nil when the host has none.
		Domain *hypervisor.Domain
		// Ended as in hypervisor.Event.
		Ended string
	}
	// CommandDone: a command's outcome. After every outcome but Refused-before-sending the engine looks at the domain.
	CommandDone struct {
		ID    uint64
		Epoch int64
		// Seq was drawn after the command ended and before the look.
		Seq     int64
		Outcome Outcome
		// Message is the host's own text, or what went wrong.
		Message string
		// Looked: Domain is what the host shows after the command (nil: none). False: it could not be looked at.
		Looked bool
		Domain *hypervisor.Domain
	}
	// Tick: time has passed; deadlines may be due.
	Tick struct{}
)

func (VMChanged) isEvent()      {}
func (VMOldRevisions) isEvent() {}
func (HostChanged) isEvent()    {}
func (HostRemoved) isEvent()    {}
func (ConfigChanged) isEvent()  {}
func (ActionPosted) isEvent()   {}
func (Loaded) isEvent()         {}
func (HostConnected) isEvent()  {}
func (HostLost) isEvent()       {}
func (HostListed) isEvent()     {}
func (DomainSeen) isEvent()     {}
func (CommandDone) isEvent()    {}
func (Tick) isEvent()           {}

// Outcome of a command.
type Outcome int

// The outcomes.
const (
	// Done: the host did it.
	Done Outcome = iota
	// Refused: the host answered with an error.
	Refused
	// Unsent: it never left (no connection, lease too short).
	Unsent
	// Unclear: no answer; it may still be carried out.
	Unclear
)

// String names the outcome.
func (o Outcome) String() string { return [...]string{"done", "refused", "unsent", "unclear"}[o] }

// CommandKind is what a host is told to do.
type CommandKind int

// The kinds of commands.
const (
	// CommandLaunch defines and creates the instance.
	CommandLaunch CommandKind = iota
	// CommandShutdown asks the guest to shut itself down.
	CommandShutdown
	// CommandDestroy switches the guest off.
	CommandDestroy
	// CommandUndefine removes the definition of an inactive domain.
	CommandUndefine
	// CommandLook only looks at the domain.
	CommandLook
)

// String names the kind.
func (k CommandKind) String() string {
	return [...]string{"launch", "shutdown", "destroy", "undefine", "look"}[k]
}

// Command is one order for one host. There is never more than one in flight for a domain.
type Command struct {
	// ID is unique in the term.
	ID   uint64
	Kind CommandKind
	Host string
	// Epoch of the connection that it may be sent on; on any other it is Unsent. What the host has been through in between (a
	// power cut, a fence) may have made it wrong.
	Epoch int64
	// UUID of the domain, Instance in it.
	UUID, Instance string
	// VM, Generation and MachineType (launch): which spec to build from.
	VM          VMKey
	Generation  int64
	MachineType string
	// CPUModel (launch) for a template that names none.
	CPUModel string
	// State (undefine): NVRAM and seed go too.
	State bool
}

// Write is one change of the store.
type Write interface{ isWrite() }

type (
	// WriteVM puts a VM's status.
	WriteVM struct {
		Key    VMKey
		UID    string
		Status *v1.VirtualMachineStatus
	}
	// DeleteVM removes a VM with all its keys; nothing of it is left on any host.
	DeleteVM struct {
		Key VMKey
		UID string
	}
	// ReleaseRevisions removes the kept specs of generations before Before: no instance is built from them any more.
	ReleaseRevisions struct {
		Key    VMKey
		UID    string
		Before int64
	}
	// WriteHost puts a host's status.
	WriteHost struct {
		Name, UID string
		Status    *v1.HostStatus
	}
	// WriteAction puts an action's status.
	WriteAction struct {
		Namespace, Name, UID string
		Status               v1.ActionStatus
	}
	// DeleteAction removes an action that has been kept long enough.
	DeleteAction struct{ Namespace, Name string }
)

func (WriteVM) isWrite()          {}
func (DeleteVM) isWrite()         {}
func (ReleaseRevisions) isWrite() {}
func (WriteHost) isWrite()        {}
func (WriteAction) isWrite()      {}
func (DeleteAction) isWrite()     {}

// Unit is a set of writes that belong together and the commands they explain. The commands may leave once the writes, and
// those of all units before, are durable.
type Unit struct {
	Writes   []Write
	Commands []Command
}

// Notice is news for people; the engine keeps it as an Event object.
type Notice struct {
	Object  v1.ObjectRef
	Warning bool
	Reason  string
	Message string
}

// Ready is what the core wants done. Any prefix of the units is valid.
type Ready struct {
	Units   []Unit
	Notices []Notice
}
