// Package describe writes everything there is to know about one object for a person to read: first what state it is in, why and
// what happens next, then the details.
//
// It is pure: it reads objects and the time it is given, and writes text. The answers on top come from explain.
package describe

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-vm/holdfast/internal/cli/explain"
	"github.com/holdfast-vm/holdfast/internal/cli/table"
)

// page is a text of fields and sections. The first error of the writer ends it.
type page struct {
	w      io.Writer
	fields [][]string
	err    error
}

// field is one line "Key:   value". Fields that follow one another are aligned. An empty value is left out.
func (p *page) field(key, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		p.fields = append(p.fields, []string{key + ":", value})
	}
}

// flush writes the fields gathered so far.
func (p *page) flush(indent string) {
	if p.err == nil && len(p.fields) > 0 {
		p.err = table.New(indented(p.w, indent), "", "").Write(p.fields...)
	}
	p.fields = nil
}

// section writes a heading and what fill adds below it; nothing when that is nothing.
func (p *page) section(heading string, fill func(*page)) {
	p.flush("")
	var body strings.Builder
	inner := &page{w: &body}
	fill(inner)
	inner.flush("  ")
	if p.err == nil {
		p.err = inner.err
	}
	if body.Len() > 0 {
		p.print("\n" + heading + "\n" + body.String())
	}
}

// rows writes a table; nothing when it has no rows.
func (p *page) rows(headers []string, rows [][]string) {
	p.flush("  ")
	if p.err == nil && len(rows) > 0 {
		p.err = table.New(indented(p.w, "  "), headers...).Write(rows...)
	}
}

func (p *page) line(text string) {
	p.flush("  ")
	p.print("  " + text + "\n")
}

func (p *page) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

func (p *page) answer(a explain.Answer) {
	p.field("State", "%s", a.State)
	p.field("Why", "%s", a.Why)
	p.field("Next", "%s", a.Next)
}

// indented puts indent before each line. Whole lines have to be written at once.
func indented(w io.Writer, indent string) io.Writer {
	if indent == "" {
		return w
	}
	return indenter{w, indent}
}

type indenter struct {
	w      io.Writer
	indent string
}

func (i indenter) Write(b []byte) (int, error) {
	text := i.indent + strings.ReplaceAll(strings.TrimSuffix(string(b), "\n"), "\n", "\n"+i.indent) + "\n"
	if _, err := io.WriteString(i.w, text); err != nil {
		return 0, err
	}
	return len(b), nil
}
