package v1

import "strings"

// FieldError says what is wrong with one field of an object, and what would be right.
type FieldError struct {
	// Field is its path, e.g. "spec.template.disks[1].volume"; empty means the object as a whole.
	Field string `json:"field,omitempty"`
	// Problem is what is wrong.
	Problem string `json:"problem"`
	// Remedy is what to do; empty where the problem says it all.
	Remedy string `json:"remedy,omitempty"`
}

// Error is "field: problem: remedy".
func (e FieldError) Error() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{e.Field, e.Problem, e.Remedy} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}
