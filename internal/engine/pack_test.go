package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"pgregory.net/rapid"
)

// packTerm is a term that has just enough to pack: VMs and actions 0 to n-1.
func packTerm(n, limit int) *term {
	o := Options{ObjectsPerTxn: limit}.withDefaults()
	t := &term{o: &o, book: newBook(), news: newNews(&o)}
	for i := range n {
		t.book.vms[vmKey(i)] = &vmEntry{uid: vmUID(i), generation: 1, revision: int64(i + 1)}
		t.book.actions[vmKey(i)] = "action"
	}
	return t
}

// Whatever the decisions and however they are packed: the store only ever shows what some prefix of the decisions left, and a
// command leaves with or after the decision that explains it, in order.
func TestPackedDecisionsAreAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const vms = 12
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		tm := packTerm(vms, limit)
		deleted := map[int]bool{}
		var prefixes []map[string]string
		var commandAfter []int // command i leaves when this many decisions are durable
		shown := map[string]string{}
		prefixes = append(prefixes, maps.Clone(shown))
		for i := range rapid.IntRange(0, 30).Draw(t, "units") {
			var u core.Unit
			for j := range rapid.IntRange(0, 4).Draw(t, "writes") {
				n := rapid.IntRange(0, vms-1).Draw(t, "vm")
				id, key := vmKey(n), layout.VMStatusKey("default", vmKey(n).Name)
				actionSpec, action := layout.ActionSpecKey("default", id.Name), layout.ActionStatusKey("default", id.Name)
				word := fmt.Sprintf("%d.%d", i, j)
				switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
				case kind <= 2 && !deleted[n]:
					u.Writes = append(u.Writes, core.WriteVM{Key: id, UID: vmUID(n), Status: &v1.VirtualMachineStatus{PrintableStatus: word}})
					shown[key] = word
				case kind == 3 && !deleted[n]:
					u.Writes = append(u.Writes, core.DeleteVM{Key: id, UID: vmUID(n)})
					shown[key], shown[layout.VMSpecKey("default", id.Name)] = "gone", "gone"
					deleted[n] = true
				case kind == 4 && shown[actionSpec] != "gone":
					u.Writes = append(u.Writes, core.WriteAction{Namespace: "default", Name: id.Name, UID: "action", Status: v1.ActionStatus{Reason: word}})
					shown[action] = word
				case kind == 5 && shown[actionSpec] != "gone":
					u.Writes = append(u.Writes, core.DeleteAction{Namespace: "default", Name: id.Name})
					shown[action], shown[actionSpec] = "gone", "gone"
				}
			}
			if rapid.Bool().Draw(t, "command") {
				u.Commands = []core.Command{{ID: uint64(len(commandAfter))}}
				commandAfter = append(commandAfter, i+1)
			}
			tm.queue = append(tm.queue, tm.prepare(u))
			prefixes = append(prefixes, maps.Clone(shown))
		}

		stored, at, commands := map[string]string{}, 0, 0
		for len(tm.queue) > 0 {
			b := tm.pack()
			if len(b.changes) > limit && len(b.changes) > 8 {
				t.Fatalf("%d keys in a transaction of at most %d", len(b.changes), limit)
			}
			for _, c := range b.changes {
				stored[c.key] = word(c)
			}
			found := false
			for ; at < len(prefixes); at++ {
				if found = maps.Equal(stored, prefixes[at]); found {
					break
				}
			}
			if !found {
				t.Fatalf("the store shows what no prefix of the decisions leaves: %v", stored)
			}
			// Decisions that write nothing new may be in the batch too: the longest equal prefix counts.
			longest := at
			for longest+1 < len(prefixes) && maps.Equal(stored, prefixes[longest+1]) {
				longest++
			}
			for _, c := range b.orders {
				if c.ID != uint64(commands) || commandAfter[c.ID] > longest {
					t.Fatalf("command %d left after %d decisions, number %d", c.ID, longest, commands)
				}
				commands++
			}
		}
		if !maps.Equal(stored, shown) || commands != len(commandAfter) {
			t.Fatalf("stored %v with %d commands, want %v with %d", stored, commands, shown, len(commandAfter))
		}
	})
}

func word(c change) string {
	if c.remove {
		return "gone"
	}
	var s layout.StatusOf[struct{ PrintableStatus, Reason string }]
	if err := json.Unmarshal(c.value, &s); err != nil {
		panic(err)
	}
	return s.Status.PrintableStatus + s.Status.Reason
}

func TestPackFillsTransactions(t *testing.T) {
	tm := packTerm(100, 64)
	for n := range 100 {
		for range 3 {
			u := core.Unit{Writes: []core.Write{core.WriteVM{Key: vmKey(n), UID: vmUID(n), Status: &v1.VirtualMachineStatus{}}}}
			tm.queue = append(tm.queue, tm.prepare(u))
		}
	}
	if b := tm.pack(); len(b.changes) != 64 {
		t.Errorf("the first transaction changes %d keys, want 64", len(b.changes))
	}
	if b := tm.pack(); len(b.changes) != 36 || len(tm.queue) != 0 {
		t.Errorf("the second transaction changes %d keys and leaves %d decisions, want 36 and none", len(b.changes), len(tm.queue))
	}
}

func TestCommandsWaitForTheLastPart(t *testing.T) {
	tm := packTerm(1, 64)
	e := tm.book.vms[vmKey(0)]
	e.generation = 41
	for g := range int64(40) {
		e.kept = append(e.kept, g+1)
	}
	parts := tm.split(tm.prepare(core.Unit{
		Writes: []core.Write{
			core.WriteVM{Key: vmKey(0), UID: vmUID(0), Status: &v1.VirtualMachineStatus{}},
			core.ReleaseRevisions{Key: vmKey(0), UID: vmUID(0), Before: 41},
		},
		Commands: []core.Command{{ID: 1}},
	}))
	if len(parts) != 3 || len(parts[0].puts) != 1 {
		t.Fatalf("%d parts, the first of which puts %d keys: want 3, and the decision in the first", len(parts), len(parts[0].puts))
	}
	for i, want := range []int{0, 0, 1} {
		if got := len(parts[i].orders); got != want {
			t.Errorf("%d commands leave after part %d, want %d", got, i, want)
		}
	}
}
