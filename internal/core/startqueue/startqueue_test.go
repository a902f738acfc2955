package startqueue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueKeepsArrival compares the queue with a plain list under random use.
func TestQueueKeepsArrival(t *testing.T) {
	type entry struct{ id, class string }
	rapid.Check(t, func(t *rapid.T) {
		q := New()
		var model []entry
		find := func(id string) int { return slices.IndexFunc(model, func(e entry) bool { return e.id == id }) }
		for range rapid.IntRange(1, 80).Draw(t, "moves") {
			id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id"))
			switch rapid.SampledFrom([]string{"put", "put", "remove", "try"}).Draw(t, "move") {
			case "put":
				class := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "class")
				i := find(id)
				news := i < 0 || model[i].class != class
				if got := q.Put(id, class); got != news {
					t.Fatalf("Put(%s, %s) said news: %v", id, class, got)
				}
				if i < 0 {
					model = append(model, entry{id, class})
				} else {
					model[i].class = class
				}
			case "remove":
				q.Remove(id)
				if i := find(id); i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			case "try":
				blocked := map[string]bool{}
				start := rapid.IntRange(0, 5).Draw(t, "slots")
				var got, want []string
				q.Try(func(id string) Verdict {
					got = append(got, id)
					e := model[find(id)]
					switch {
					case e.class == "z":
						return ClassBlocked
					case start == 0:
						return AllBlocked
					}
					start--
					return Started
				})
				left := len(got)
				for _, e := range slices.Clone(model) {
					if left == 0 {
						break
					}
					if blocked[e.class] {
						continue
					}
					want = append(want, e.id)
					left--
					if e.class == "z" {
						blocked["z"] = true
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("tried %v, want %v of %v", got, want, model)
				}
				for i, id := range got {
					last := i == len(got)-1
					if e := model[find(id)]; e.class != "z" && (!last || !q.Has(id)) {
						model = slices.Delete(model, find(id), find(id)+1)
					}
				}
			}
			if q.Len() != len(model) {
				t.Fatalf("holds %d, want %d", q.Len(), len(model))
			}
			for _, class := range []string{"x", "y", "z"} {
				var want []string
				for _, e := range model {
					if e.class == class {
						want = append(want, e.id)
					}
				}
				if got := q.Class(class); !slices.Equal(got, want) {
					t.Fatalf("class %s holds %v, want %v", class, got, want)
				}
			}
		}
	})
}
