package stories

import (
	"math/rand/v2"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

// vmNames are the VMs of every story.
var vmNames = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}

// steps is how long a story is, on average with a dozen deaths of the control plane.
const steps = 70

// Generate makes the story of a seed.
func Generate(seed uint64) Story {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	s := Story{Setting: g.setting(seed)}
	g.lies = s.Setting.Lies
	for i := range steps {
		step := g.step(i, s.Setting.Hosts)
		step.Index, step.At = i, g.now
		s.Steps = append(s.Steps, step)
	}
	return s
}

type generator struct {
	*rand.Rand
	now  time.Duration
	lies bool
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) setting(seed uint64) Setting {
	ms := time.Millisecond
	return Setting{
		Seed:   seed,
		Hosts:  2 + g.IntN(4),
		Memory: pick(g, v1.Quantity(4<<30), 8<<30, 16<<30),
		Planes: pick(g, 1, 1, 2),
		Write:  pick(g, 0, 0, 2*ms, 20*ms),
		Batch:  pick(g, 0, 0, 1, 3),
		Lies:   g.IntN(6) == 0,
		Fleet: sim.Options{
			Latency:    sim.Range{Max: pick(g, 0, 5*ms, 200*ms)},
			Answer:     sim.Range{Max: pick(g, 0, 5*ms, 200*ms)},
			Backlog:    sim.Range{Max: pick(g, 0, time.Second, 20*time.Second)},
			EventDelay: sim.Range{Max: pick(g, 0, 50*ms, 2*time.Second)},
			EventLoss:  pick(g, 0, 10), EventTwice: pick(g, 0, 10),
		},
		Config: v1.ClusterConfigSpec{
			StartLimit:      v1.StartLimit{Cluster: 1 + g.IntN(6), PerHost: 1 + g.IntN(3)},
			StartTimeout:    v1.Duration(time.Minute),
			StopGracePeriod: v1.Duration(30 * time.Second),
			CrashLoop: v1.CrashLoopPolicy{
				InitialDelay: v1.Duration(5 * time.Second), MaxDelay: v1.Duration(40 * time.Second), MinUptime: v1.Duration(30 * time.Second),
			},
		},
	}
}

// step is the i-th; the first ones create most of the VMs. Some steps fall on the same instant, most follow soon.
func (g *generator) step(i, hosts int) Step {
	if i < len(vmNames)-2 {
		return g.apply(vmNames[i])
	}
	g.now += time.Duration(g.Int64N(int64(pick(g, time.Nanosecond, 100*time.Millisecond, 2*time.Second, 10*time.Second, 40*time.Second)))).
		Truncate(time.Millisecond)
	vm, host := pick(g, vmNames...), "h"+string(rune('1'+g.IntN(hosts)))
	lasts := time.Duration(g.Int64N(int64(pick(g, 5*time.Second, 30*time.Second, 2*time.Minute)))).Truncate(time.Millisecond)
	switch n := g.IntN(100); {
	case n < 10:
		return g.apply(vm)
	case n < 20:
		return Step{Verb: Start, VM: vm}
	case n < 30:
		return Step{Verb: Stop, VM: vm, Force: g.IntN(4) == 0}
	case n < 39:
		return Step{Verb: Restart, VM: vm, Force: g.IntN(4) == 0}
	case n < 44:
		return Step{Verb: Delete, VM: vm, Force: g.IntN(4) == 0}
	case n < 53:
		return Step{Verb: pick(g, GuestPowersOff, GuestPowersOff, GuestCrashes, GuestCrashes, Destroyed, Saved, Started), VM: vm}
	case n < 55:
		return Step{Verb: Paused, VM: vm, For: lasts}
	case n < 61 && g.lies && g.IntN(2) == 0:
		return Step{Verb: Unplug, Host: host, For: time.Minute + lasts, Word: 16*time.Second + min(lasts, 30*time.Second)}
	case n < 61:
		return Step{Verb: pick(g, Freeze, FreezeAtCreate, Unplug), Host: host, For: lasts, Word: g.word()}
	case n < 64:
		return Step{Verb: PowerCut, Host: host, For: lasts, Word: g.word()}
	case n < 68:
		return g.reboot(host)
	case n < 75:
		return Step{Verb: pick(g, LoseAnswers, FailStarts), Host: host, N: 1 + g.IntN(3)}
	case n < 78:
		return Step{Verb: pick(g, Disconnect, RestartDaemon), Host: host}
	case n < 79:
		return Step{Verb: Cordon, Host: host, For: lasts}
	case n < 81:
		return Step{Verb: Isolate, For: lasts}
	}
	pause := time.Duration(g.Int64N(int64(pick(g, time.Nanosecond, time.Second, 15*time.Second)))).Truncate(time.Millisecond)
	kill := Step{Verb: Kill, Moment: pick(g, AnyTime, BeforeWrite, AfterWrite, LateWrite, BeforeCall, AfterCall), N: 1 + g.IntN(4), For: pause}
	if kill.Moment == LateWrite {
		kill.Late = time.Duration(g.Int64N(int64(20 * time.Second))).Truncate(time.Millisecond)
	}
	return kill
}

// word is when a person says that a host is down which has just been lost: every other time, when it may be Unreachable by then.
func (g *generator) word() time.Duration {
	if g.IntN(2) == 0 {
		return 0
	}
	return 16*time.Second + time.Duration(g.Int64N(int64(40*time.Second))).Truncate(time.Millisecond)
}

// reboot lets a host end its guests, go down soon after, and be back within a minute.
func (g *generator) reboot(host string) Step {
	within := func(d time.Duration) time.Duration {
		return time.Duration(g.Int64N(int64(d))).Truncate(time.Millisecond)
	}
	return Step{
		Verb: Reboot, Host: host, Farewell: pick(g, sim.Sigterm, sim.ACPI, sim.Saving), After: within(15 * time.Second),
		For: time.Second + within(time.Minute), Word: g.word(),
	}
}

func (g *generator) apply(vm string) Step {
	return Step{
		Verb: Apply, VM: vm, Memory: pick(g, v1.Quantity(512<<20), 1<<30, 1536<<20),
		Strategy: pick(g, v1.RunAlways, v1.RunAlways, v1.RunAlways, v1.RunRerunOnFailure, v1.RunManual, v1.RunManual, v1.RunOnce, v1.RunHalted),
	}
}
