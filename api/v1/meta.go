package v1

import "time"

// APIVersion is the only version of the objects so far.
const APIVersion = "holdfast/v1"

// DefaultNamespace is where an object lands whose manifest names no namespace.
const DefaultNamespace = "default"

// TypeMeta says what a document is.
type TypeMeta struct {
	// APIVersion is always "holdfast/v1".
	APIVersion string `json:"apiVersion"`
	// Kind names the object: VirtualMachine, Host, ClusterConfig.
	Kind string `json:"kind"`
}

// ObjectMeta is what every object has, whatever its kind.
type ObjectMeta struct {
	// Name is unique among the objects of one kind in one namespace: a DNS label, at most 63 characters.
	Name string `json:"name"`
	// Namespace groups objects; empty means "default". Hosts and the cluster configuration have none.
	Namespace string `json:"namespace,omitempty"`
	// UID tells an object from its successors of the same name. Set by the server; a VM's UID is its domain's UUID on every host.
	UID string `json:"uid,omitempty"`
	// Labels are for selecting; keys and values as in Kubernetes.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are for people and tools; Holdfast reads none.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Generation counts the changes of spec, from 1. Set by the server.
	Generation int64 `json:"generation,omitempty"`
	// ResourceVersion is the store's revision of the newest part of the object that was read. A write that carries one is
	// refused (409) when the spec has changed since; one that carries none overwrites. Set by the server.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// CreationTimestamp is when the server accepted the object.
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"`
	// DeletionTimestamp is when a user asked for deletion; nil while nobody has. Once set it stays.
	DeletionTimestamp *time.Time `json:"deletionTimestamp,omitempty"`
	// DeletionForce: the deletion may switch the guest off without asking it to shut down.
	DeletionForce bool `json:"deletionForce,omitempty"`
}

// Condition is one named yes-or-no fact about an object, with its reason.
type Condition struct {
	// Type names the fact, e.g. "Ready".
	Type string `json:"type"`
	// Status is "True", "False" or "Unknown".
	Status string `json:"status"`
	// Reason is a constant for programs, e.g. "HostUnreachable".
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	Message string `json:"message,omitempty"`
	// LastTransitionTime is when Status last changed.
	LastTransitionTime time.Time `json:"lastTransitionTime,omitzero"`
}

// The values of Condition.Status.
const (
	ConditionTrue    = "True"
	ConditionFalse   = "False"
	ConditionUnknown = "Unknown"
)
