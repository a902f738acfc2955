// Package table writes aligned columns. It exists because a watch adds rows for as long as it runs: columns keep their places
// from the first rows on, which a writer that buffers everything cannot do.
package table

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// gap is the number of blanks between columns.
const gap = 3

// Table is a table that grows.
type Table struct {
	w       io.Writer
	headers []string
	widths  []int
	started bool
}

// New makes a table; nothing is written before the first rows.
func New(w io.Writer, headers ...string) *Table {
	return &Table{w: w, headers: headers, widths: make([]int, len(headers))}
}

// Write writes rows, and before the first ones the headers (none when all are empty). A column is never narrower than in the
// rows before. Each row has as many cells as there are headers.
func (t *Table) Write(rows ...[]string) error {
	for _, row := range append([][]string{t.headers}, rows...) {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	out := bufio.NewWriter(t.w)
	if !t.started && strings.Join(t.headers, "") != "" {
		t.line(out, t.headers)
	}
	t.started = true
	for _, row := range rows {
		t.line(out, row)
	}
	return out.Flush()
}

func (t *Table) line(out *bufio.Writer, cells []string) {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+gap))
	}
	out.WriteString(strings.TrimRight(b.String(), " "))
	out.WriteByte('\n')
}
