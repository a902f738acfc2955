package stories

import (
	"flag"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

var (
	seed = flag.Uint64("story.seed", 0, "play only the story of this seed, and log what the control planes say")
	keep = flag.String("story.keep", "", "with -story.seed: only the steps with these indices, e.g. 1,4,9")
	want = flag.Int("story.count", 0, "how many stories to play; 0 means 40, or 20000 with HOLDFAST_SOAK")
	most = flag.Int("story.failures", 3, "how many failing stories to report before giving up")
	from = flag.Uint64("story.from", 1, "the first seed")
)

// fewest is how many kills of the control plane a story has at least, on average: a generator that kills less is broken.
const fewest = 5

// TestStories plays random stories.
func TestStories(t *testing.T) {
	if *seed != 0 {
		replay(t, *seed, *keep)
		return
	}
	enough := *want
	if enough == 0 {
		if enough = 40; os.Getenv("HOLDFAST_SOAK") != "" {
			enough = 20_000
		}
	}
	began, kills, n, failed := time.Now(), 0, 0, 0
	for s := *from; n < enough; s++ {
		o := play(t, Generate(s), nil)
		kills += o.Kills
		n++
		if o.Failed() {
			report(t, Generate(s), o)
			if failed++; failed == *most {
				break
			}
		}
	}
	if n >= 40 && kills < n*fewest {
		t.Errorf("%d stories had %d kills of the control plane, want %d in each on average", n, kills, fewest)
	}
	t.Logf("%d stories from seed %d, %d kills of the control plane, %d stories failed, in %s", n, *from, kills, failed, time.Since(began).Round(time.Millisecond))
}

// play runs a story in a bubble of its own, with ids that follow from the seed.
func play(t *testing.T, s Story, log *slog.Logger) (o Outcome) {
	uuid.SetRand(&seeded{r: rand.NewChaCha8([32]byte{byte(s.Setting.Seed), byte(s.Setting.Seed >> 8), byte(s.Setting.Seed >> 16)})})
	defer uuid.SetRand(nil)
	s.Setting.Log = log
	synctest.Test(t, func(t *testing.T) {
		var err error
		if o, err = s.Run(); err != nil {
			t.Fatal(err)
		}
	})
	return o
}

// seeded is a source of random bytes for several goroutines.
type seeded struct {
	mu sync.Mutex
	r  io.Reader
}

func (s *seeded) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(b)
}

// report cuts a failing story down and tells it with the evidence.
func report(t *testing.T, s Story, o Outcome) {
	t.Helper()
	small, why := shrink(t, s, o)
	t.Errorf("the story of seed %d breaks a promise. Replay: go test ./internal/stories -run TestStories -v -story.seed=%d -story.keep=%s\n%s%s",
		s.Setting.Seed, s.Setting.Seed, indices(small), small, why)
}

// shrink leaves out steps as long as the story still breaks the same promise first: halves, quarters, single steps.
func shrink(t *testing.T, s Story, o Outcome) (Story, Outcome) {
	name := verdict(o)
	for size := len(s.Steps) / 2; size > 0; size /= 2 {
		for at := 0; at < len(s.Steps); {
			cut := s
			cut.Steps = append(append([]Step(nil), s.Steps[:at]...), s.Steps[min(at+size, len(s.Steps)):]...)
			if got := play(t, cut, nil); verdict(got) == name {
				s, o = cut, got
			} else {
				at += size
			}
		}
	}
	return s, o
}

// verdict is the first broken promise; empty: none.
func verdict(o Outcome) string {
	switch {
	case len(o.Violations) > 0:
		return o.Violations[0].Check
	case len(o.Unhappy) > 0:
		return "unhappy"
	}
	return ""
}

func indices(s Story) string {
	var out []string
	for _, step := range s.Steps {
		out = append(out, strconv.Itoa(step.Index))
	}
	return strings.Join(out, ",")
}

func replay(t *testing.T, seed uint64, keep string) {
	s := Generate(seed)
	if keep != "" {
		kept := map[int]bool{}
		for _, i := range strings.Split(keep, ",") {
			n, err := strconv.Atoi(i)
			if err != nil {
				t.Fatalf("-story.keep: %v", err)
			}
			kept[n] = true
		}
		s = s.Only(kept)
	}
	o := play(t, s, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})))
	t.Logf("%s%d kills", s, o.Kills)
	for _, e := range o.Log {
		t.Logf("%s rev %d: %s", e.At.Format("15:04:05.000"), e.Rev, e.Fact)
	}
	if o.Failed() {
		t.Error(o)
	}
}
