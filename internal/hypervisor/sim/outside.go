package sim

import (
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Change is what an observer outside sees: a domain has come into another state. It is the truth, also while the host is out of
// reach of everybody.
type Change struct {
	At   time.Time
	Host string
	// UUID of the domain; VMUID, ClusterUID and Instance are empty for a foreign one.
	UUID, VMUID, ClusterUID, Instance string
	// State it is in now; empty: it is not even defined any more.
	State hypervisor.DomainState
	// Why, as a host shows it.
	Why string
	// Memory in bytes and VCPUs of the domain.
	Memory v1.Quantity
	VCPUs  int
	// Cause of the change. Op and Process (CauseCall) say which call of whom; "shutdown" is a guest that followed our request.
	Cause       Cause
	Op, Process string
}

// Cause is who changed a domain's state.
type Cause string

// The causes.
const (
	// CauseCall: a call through the hypervisor port.
	CauseCall Cause = "call"
	// CauseGuest: the guest itself, unasked.
	CauseGuest Cause = "guest"
	// CauseOutsider: somebody else on the host.
	CauseOutsider Cause = "outsider"
	// CausePower: the host lost power, or ended its guests because it was going down.
	CausePower Cause = "power"
)

// Call is a call that changes something and has left its sender: define, create, shutdown, destroy or undefine.
type Call struct {
	At                       time.Time
	Process, Host, Op        string
	UUID, Instance           string
	Memory                   v1.Quantity // define
	Namespace, Name, Machine string      // define
}
