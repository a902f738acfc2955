package registry

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// ErrExpired ends or refuses a watch that asks for changes the store no longer has, or does not have yet: list again, and watch
// from there.
var ErrExpired = errors.New("that resourceVersion is out of the store's reach: list again, and watch from the resourceVersion of that list")

// NotFoundError: there is no such object.
type NotFoundError struct{ Ref v1.ObjectRef }

func (e *NotFoundError) Error() string { return e.Ref.String() + " does not exist" }

// ConflictError: the request is sound and something that exists is in its way.
type ConflictError struct {
	// Ref is the object of the request.
	Ref v1.ObjectRef
	// Field in the way; empty means the object as a whole.
	Field string
	// Other is the object that owns what Field asks for; nil unless the conflict is with another object.
	Other *v1.ObjectRef
	// Problem and Remedy say what is wrong and what to do.
	Problem, Remedy string
}

func (e *ConflictError) Error() string {
	return e.Ref.String() + ": " + v1.FieldError{Field: e.Field, Problem: e.Problem, Remedy: e.Remedy}.Error()
}

// InvalidError: the request itself is wrong, whatever exists.
type InvalidError struct {
	Ref v1.ObjectRef
	// Fields that are wrong; at least one.
	Fields []v1.FieldError
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = e.Ref.String() + ": " + f.Error()
	}
	return strings.Join(lines, "\n")
}

// TerminatingError: the VM is being deleted; nothing about it can be changed any more.
type TerminatingError struct{ Ref v1.ObjectRef }

func (e *TerminatingError) Error() string {
	return e.Ref.String() + " is being deleted and cannot be changed: wait until it is gone, then create it anew"
}

func invalid(ref v1.ObjectRef, field, problem, remedy string) error {
	return &InvalidError{Ref: ref, Fields: []v1.FieldError{{Field: field, Problem: problem, Remedy: remedy}}}
}

// TooLargeError: the request does not fit into one transaction of the store.
type TooLargeError struct {
	// Ops is how many writes or conditions it would need, Bytes how much they take.
	Ops, Bytes int
}

func (e *TooLargeError) Error() string {
	if e.Bytes > store.MaxTxnBytes {
		return fmt.Sprintf("the request needs %d KiB in one transaction, and the store takes %d KiB at once: split it into smaller ones",
			(e.Bytes+1023)>>10, store.MaxTxnBytes>>10)
	}
	return fmt.Sprintf("the request needs %d operations in one transaction, and the store takes %d at once: split it into smaller ones",
		e.Ops, store.MaxTxnOps)
}
