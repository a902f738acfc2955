package v1

import "time"

// KindEvent is the kind of an Event.
const KindEvent = "Event"

// Event says what happened to which object, and why. Events with the same object and reason are one, with a count.
type Event struct {
	TypeMeta `json:",inline"`
	// Metadata names the event.
	Metadata ObjectMeta `json:"metadata"`
	// Object it happened to.
	Object ObjectRef `json:"object"`
	// Type is Normal or Warning.
	Type string `json:"type"`
	// Reason is a constant.
	Reason string `json:"reason"`
	// Message is a sentence: the newest one.
	Message string `json:"message"`
	// Count of times it happened.
	Count int `json:"count"`
	// FirstAt and LastAt are when it first and last happened.
	FirstAt time.Time `json:"firstAt"`
	LastAt  time.Time `json:"lastAt"`
}

// The types of events.
const (
	EventNormal  = "Normal"
	EventWarning = "Warning"
)

// ObjectRef names one object.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}
