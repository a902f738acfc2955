package engine

import (
	"time"

	"github.com/holdfast-vm/holdfast/internal/core"
)

// decider is what the engine needs of a core.
type decider interface {
	Step(now time.Time, ev core.Event)
	Ready() core.Ready
	NextDeadline() (time.Time, bool)
}

func newCore() decider { return core.New() }
