package stories

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

// guest is how an instance behaves: it follows from the seed, the VM's name and the instance's number. Every third is trouble until
// the world is healed; then all boot and stay, though some still do not listen.
func (w *World) guest(m hypervisor.Machine) sim.Guest {
	h := fnv.New64a()
	number, _, _ := strings.Cut(m.InstanceID, "-")
	fmt.Fprintf(h, "%s/%s", m.Name, number)
	r := rand.New(rand.NewPCG(w.setting.Seed, h.Sum64()))
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	g := sim.Guest{Boot: within(8 * time.Second), Shutdown: within(10 * time.Second), Deaf: within(15 * time.Second)}
	if r.IntN(4) == 0 {
		g.Boot = 0
	}
	g.IgnoresACPI = r.IntN(8) == 0
	if w.healed.Load() {
		return g
	}
	switch r.IntN(15) {
	case 0:
		g.StartError = "internal error: process exited while connecting to monitor"
	case 1:
		g.CrashesAfter = within(2 * time.Minute)
	case 2, 3:
		g.PowersOffAfter = within(2 * time.Minute)
	case 4:
		g.Boot = 2 * time.Minute // longer than its start time-out
	}
	return g
}
