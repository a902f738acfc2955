package stories

import (
	"flag"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/invariant"
)

// round is how long everything has to settle between two acts: longer than the pauses between two tries, shorter than the deadlines
// that end anything.
const round = 40 * time.Second

// TestObservationsMayComeAnyhow: in whatever order hosts carry out what they are told, and in whatever order, how often and how late
// the core learns what they show, the outcome is the same, and no promise is broken on the way.
func TestObservationsMayComeAnyhow(t *testing.T) {
	if os.Getenv("HOLDFAST_SOAK") != "" {
		_ = flag.Set("rapid.checks", "5000")
	}
	verbs := []string{"always", "manual", "delete", "start", "stop", "restart", "poweroff", "crash", "outsider", "reconnect", "failing"}
	one := rapid.Custom(func(t *rapid.T) act {
		a := act{verb: rapid.SampledFrom(verbs).Draw(t, "verb")}
		if a.verb == "reconnect" || a.verb == "failing" {
			a.host = rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "host")
		} else {
			a.vm = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "vm")
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		acts := append([]act{{verb: "always", vm: "a"}, {verb: "manual", vm: "b"}}, rapid.SliceOfN(one, 1, 12).Draw(t, "acts")...)
		want := playActs(acts, inOrder{})
		got := playActs(acts, &anyhow{T: t})
		if a, b := want.outcome(), got.outcome(); a != b {
			t.Errorf("in order:\n%s\nanyhow:\n%s", a, b)
		}
		for _, v := range invariant.Run(got.log, invariant.All()...) {
			t.Error(v)
		}
	})
}

// postman decides what happens next.
type postman interface {
	// order picks one of n commands to be carried out now; n means none, when messages wait instead.
	order(n int, messages bool) int
	// message picks one of n observations to be told now, and whether it stays on its way to be told again, and whether it is put
	// off to a later round without being told now. Results of commands are not put off.
	message(n int) (i int, again, later bool)
}

type inOrder struct{}

func (inOrder) order(int, bool) int           { return 0 }
func (inOrder) message(int) (int, bool, bool) { return 0, false, false }

type anyhow struct{ *rapid.T }

func (p *anyhow) order(n int, messages bool) int {
	if !messages {
		n--
	}
	return rapid.IntRange(0, n).Draw(p.T, "order")
}

func (p *anyhow) message(n int) (i int, again, later bool) {
	i = rapid.IntRange(0, n-1).Draw(p.T, "message")
	what := rapid.IntRange(0, 5).Draw(p.T, "how")
	return i, what == 0, what == 1
}

// playActs plays the acts, one a round.
func playActs(acts []act, p postman) *rig {
	r := newRig(2)
	var putOff []core.Event
	for _, a := range acts {
		r.act(a)
		end := r.now.Add(round)
		r.messages = append(r.messages, putOff...)
		putOff = nil
		for {
			r.deliver(p, &putOff)
			// What the hosts show by now is told at last: observations may be late, not lost for ever.
			for _, h := range r.fleet.Hosts() {
				r.step(r.list(h.Name()))
			}
			if len(r.orders)+len(r.messages) > 0 {
				continue
			}
			at, ok := r.core.NextDeadline()
			if !ok || at.After(end) {
				break
			}
			if at.After(r.now) {
				r.now = at
			}
			r.step(core.Tick{})
		}
		r.now = end
	}
	r.messages = putOff
	r.deliver(p, &putOff)
	for range 3 {
		for _, h := range r.fleet.Hosts() {
			r.step(r.list(h.Name()))
		}
		r.deliver(inOrder{}, &putOff)
	}
	return r
}

// deliver lets commands be carried out and observations be told until none is on its way, but for those that are put off.
func (r *rig) deliver(p postman, putOff *[]core.Event) {
	for len(r.orders)+len(r.messages) > 0 {
		if len(r.orders) > 0 {
			if i := p.order(len(r.orders), len(r.messages) > 0); i < len(r.orders) {
				r.carryOut(i)
				continue
			}
		}
		i, again, later := p.message(len(r.messages))
		m := r.messages[i]
		r.messages = append(r.messages[:i:i], r.messages[i+1:]...)
		if _, result := m.(core.CommandDone); result {
			later = false
		}
		if later || again {
			*putOff = append(*putOff, m)
		}
		if !later {
			r.step(m)
		}
	}
}
