package progress

import (
	"strings"
	"testing"
)

func TestPlainSaysEachChangeOnce(t *testing.T) {
	var b strings.Builder
	p := New(&b, 0, "vm/a", "vm/b")
	p.Say("vm/b", "waiting")
	p.Say("vm/b", "waiting")
	p.Say("vm/a", "launching")
	p.Say("vm/b", "running")
	if want := "vm/b: waiting\nvm/a: launching\nvm/b: running\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestLiveRewritesInPlace(t *testing.T) {
	var b strings.Builder
	p := New(&b, 16, "vm/a", "vm/b")
	p.Say("vm/b", "waiting")
	p.Say("vm/a", "launching now")
	p.Say("vm/b", "running")
	const up1, up2, clear = "\x1b[1A", "\x1b[2A", "\r\x1b[K"
	want := clear + "vm/b: waiting\n" +
		up1 + clear + "vm/a: launching…\n" + clear + "vm/b: waiting\n" +
		up2 + clear + "vm/a: launching…\n" + clear + "vm/b: running\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestTooManyForATerminal(t *testing.T) {
	var b strings.Builder
	New(&b, 80, make([]string, mostLive+1)...).Say("vm/a", "running")
	if want := "vm/a: running\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
