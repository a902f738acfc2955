package v1

import "strings"

// Document is one object of a manifest, and where it was written.
type Document struct {
	// Object is a *VirtualMachine, *Host or *ClusterConfig, with its defaults set.
	Object Object
	// File and Line of the document's beginning; zero when it was not read from a file.
	File string
	Line int

	// written has the position of each field that was written; nil when the document was not decoded.
	written map[string]position
}

type position struct{ line, column int }

// Wrote tells whether the document's author wrote a field, as opposed to its having a default; path as in FieldError.Field. All
// fields of a document that was not decoded count as written.
func (d Document) Wrote(path string) bool {
	_, ok := d.written[path]
	return ok || d.written == nil
}

// Position is where a field is written, or what holds it when the field itself is not there.
func (d Document) Position(path string) (line, column int) {
	for {
		if p, ok := d.written[path]; ok {
			return p.line, p.column
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return d.Line, 1
		}
		path = path[:cut]
	}
}
