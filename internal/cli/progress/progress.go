// Package progress shows how several things that are waited for are getting on: on a terminal one line for each, rewritten in
// place; elsewhere a new line for each change, so that a log reads as a story.
package progress

import (
	"fmt"
	"io"
	"sync"
)

// mostLive is how many lines are rewritten in place at most; more than that would not fit a small terminal.
const mostLive = 20

// Progress is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	width int
	names []string
	lines map[string]string
	drawn int
}

// New shows the progress of names on w. width is the terminal's in columns; zero means that w is no terminal.
func New(w io.Writer, width int, names ...string) *Progress {
	if len(names) > mostLive {
		width = 0
	}
	return &Progress{w: w, width: width, names: names, lines: map[string]string{}}
}

// Say tells what name is doing now. The same line again is not repeated.
func (p *Progress) Say(name, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines[name] == line {
		return
	}
	p.lines[name] = line
	if p.width == 0 {
		fmt.Fprintf(p.w, "%s: %s\n", name, line)
		return
	}
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA", p.drawn)
	}
	p.drawn = 0
	for _, n := range p.names {
		if l, said := p.lines[n]; said {
			fmt.Fprintf(p.w, "\r\x1b[K%s\n", cut(n+": "+l, p.width))
			p.drawn++
		}
	}
}

// cut shortens a line so that it does not wrap, which would put every line above it in the wrong place.
func cut(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return line
}
