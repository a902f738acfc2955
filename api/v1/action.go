package v1

import "time"

// KindAction is the kind of an Action.
const KindAction = "Action"

// ActionType is what an action asks for.
type ActionType string

// The actions.
const (
	ActionStart   ActionType = "start"
	ActionStop    ActionType = "stop"
	ActionRestart ActionType = "restart"
)

// Action is a durable request about one VM. Accepted means persisted: it takes effect exactly once, whatever happens to the
// control plane.
type Action struct {
	TypeMeta `json:",inline"`
	// Metadata: the name is the client's request id; posting the same id again is the same action.
	Metadata ObjectMeta `json:"metadata"`
	// Spec is what is asked for.
	Spec ActionSpec `json:"spec"`
	// Status says what became of it.
	Status ActionStatus `json:"status,omitzero"`
}

// ActionSpec is what a user asks for.
type ActionSpec struct {
	// Type is start, stop or restart.
	Type ActionType `json:"type"`
	// VM is the name of the VM, in the action's namespace.
	VM string `json:"vm"`
	// VMUID is the uid the VM had when the action was accepted: it never reaches a successor of the same name.
	VMUID string `json:"vmUID"`
	// Force (stop, restart): switch the guest off now, without asking it to shut down.
	Force bool `json:"force,omitempty"`
	// By says who asked.
	By string `json:"by,omitempty"`
	// ExpiresAt is when an action that has not taken effect is given up.
	ExpiresAt time.Time `json:"expiresAt"`
}

// The phases of an action.
const (
	ActionPending = "Pending"
	ActionApplied = "Applied"
	ActionRefused = "Refused"
)

// ActionStatus says what became of an action. The core alone writes it.
type ActionStatus struct {
	// Phase is empty or Pending, then Applied or Refused.
	Phase string `json:"phase,omitempty"`
	// Reason and Message say what it did, or why it was refused and what to do instead.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// At is when it took effect or was refused. An action is kept for an hour after that.
	At time.Time `json:"at,omitzero"`
}
