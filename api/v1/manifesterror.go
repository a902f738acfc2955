package v1

import (
	"fmt"
	"strings"
)

// ManifestError is one thing that is wrong with a manifest, and where.
type ManifestError struct {
	// File as its reader named it; empty for what came without a file.
	File string `json:"file,omitempty"`
	// Line and Column, from 1; zero means the file as a whole.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	FieldError
}

// Error is "file:line:column: field: problem: remedy".
func (e ManifestError) Error() string {
	var at []string
	if e.File != "" {
		at = append(at, e.File)
	}
	if e.Line > 0 {
		at = append(at, fmt.Sprintf("%d:%d", e.Line, e.Column))
	}
	where := strings.Join(at, ":")
	if where == "" {
		return e.FieldError.Error()
	}
	if e.File == "" {
		where = "line " + where
	}
	return where + ": " + e.FieldError.Error()
}

// ManifestErrors are all that is wrong with a manifest, in the order of its lines. It is never empty when it is an error.
type ManifestErrors []ManifestError

// Error has one line a problem.
func (es ManifestErrors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}
