package sim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

const vm = "11111111-1111-4111-8111-111111111111"

func machine(uid, instance string) hypervisor.Machine {
	return hypervisor.Machine{
		ClusterUID: "c", VMUID: uid, Namespace: "default", Name: "a", InstanceID: instance, MachineType: "pc-q35-7.2",
		Template: v1.Template{Memory: 1 << 30},
	}
}

// world is a fleet of one host, with what an observer saw of it.
type world struct {
	fleet *sim.Fleet
	host  *sim.Host
	seen  []sim.Change
}

func newWorld(o sim.Options) *world {
	w := &world{}
	o.OnChange = func(c sim.Change) { w.seen = append(w.seen, c) }
	w.fleet = sim.New(o)
	w.host = w.fleet.AddHost(sim.HostConfig{Name: "h1"})
	return w
}

func (w *world) connect(t *testing.T, d hypervisor.Driver) hypervisor.Conn {
	t.Helper()
	c, err := d.Connect(t.Context(), "sim://h1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// state of the VM's domain as it really is, e.g. "Running/booted"; "gone" when there is none.
func (w *world) state() string {
	for _, d := range w.host.Domains() {
		if d.UUID == vm {
			return string(d.State) + "/" + d.Why
		}
	}
	return "gone"
}

func (w *world) want(t *testing.T, state string) {
	t.Helper()
	if got := w.state(); got != state {
		t.Fatalf("the domain is %s, want %s", got, state)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// ends waits until the connection is lost; in a bubble one that is not lost is a deadlock, which synctest reports.
func ends(c hypervisor.Conn) {
	for range c.Events() {
	}
}

// A frozen daemon carries out what it was sent when it thaws, although the caller has given up and its process is dead.
func TestLateCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{})
		p := w.fleet.Process("p1")
		c := w.connect(t, p)
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		w.host.Freeze()
		err := c.Create(within(t, 5*time.Second), vm, "i1")
		if err == nil || hypervisor.Answered(err) {
			t.Fatalf("create on a frozen host: %v, want an error that is no answer", err)
		}
		ends(c) // a call that timed out closes the connection
		p.Kill()
		if _, err := p.Connect(t.Context(), "sim://h1"); err == nil {
			t.Fatal("a dead process connects")
		}
		w.want(t, "Inactive/unknown")
		w.host.Thaw()
		w.want(t, "Running/booted")
	})
}

// Calls that have waited may be overtaken by those that come after the thaw.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{Backlog: sim.Range{Min: 5 * time.Second}})
		c := w.connect(t, w.fleet)
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		w.host.Freeze()
		_ = c.Create(within(t, time.Second), vm, "i1")
		w.host.Thaw()
		ok(t, w.connect(t, w.fleet).Undefine(t.Context(), vm, "i1", false))
		time.Sleep(time.Minute)
		w.want(t, "gone") // the create came too late: there was nothing to start
	})
}

func TestKilledProcessSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{Latency: sim.Range{Min: time.Second}})
		p := w.fleet.Process("p1")
		c := w.connect(t, p)
		done := make(chan error)
		go func() { done <- c.Define(context.Background(), machine(vm, "i1")) }()
		synctest.Wait()
		p.Kill()
		if err := <-done; err == nil {
			t.Fatal("a call of a dead process succeeds")
		}
		if err := c.Create(t.Context(), vm, "i1"); err == nil {
			t.Fatal("a dead process makes calls")
		}
		time.Sleep(time.Minute)
		w.want(t, "Inactive/unknown") // what had left is carried out, and nothing after it
	})
}

func TestMoment(t *testing.T) {
	for _, left := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(sim.Options{})
			p := w.fleet.Process("p1")
			p.Moment = func(l bool, c sim.Call) {
				if l == left && c.Op == "define" {
					p.Kill()
				}
			}
			c := w.connect(t, p)
			_ = c.Define(t.Context(), machine(vm, "i1"))
			w.want(t, map[bool]string{false: "gone", true: "Inactive/unknown"}[left])
		})
	}
}

func TestPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{Latency: sim.Range{Min: time.Second}})
		c := w.connect(t, w.fleet)
		before, _ := bootID(t, c)
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		ok(t, c.Create(t.Context(), vm, "i1"))
		other := machine("22222222-2222-4222-8222-222222222222", "i2")
		go c.Define(t.Context(), other) // on its way when the power goes
		synctest.Wait()
		w.host.PowerOff()
		last := w.seen[len(w.seen)-1]
		if last.Cause != sim.CausePower || last.State != hypervisor.DomainInactive {
			t.Fatalf("last seen %+v, want the power cut", last)
		}
		time.Sleep(time.Minute) // longer than the keep-alive
		ends(c)
		if _, err := w.fleet.Connect(within(t, time.Second), "sim://h1"); err == nil {
			t.Fatal("connected to a host without power")
		}
		w.host.PowerOn()
		c = w.connect(t, w.fleet)
		if id, uptime := bootID(t, c); id == before || uptime > time.Minute {
			t.Errorf("boot %s, up for %s, after %s: want another boot, just now", id, uptime, before)
		}
		list, err := c.List(t.Context())
		ok(t, err)
		if len(list) != 1 || list[0].State != hypervisor.DomainInactive || list[0].Why != hypervisor.WhyUnknown {
			t.Fatalf("after power on: %+v, want the definition, off, reason unknown", list)
		}
	})
}

func bootID(t *testing.T, c hypervisor.Conn) (string, time.Duration) {
	t.Helper()
	facts, err := c.Facts(t.Context())
	ok(t, err)
	return facts.BootID, facts.Uptime
}

func TestUnplug(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{})
		c := w.connect(t, w.fleet)
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		ok(t, c.Create(t.Context(), vm, "i1"))
		w.host.Unplug()
		if err := c.Destroy(within(t, time.Second), vm, "i1"); err == nil {
			t.Fatal("a call goes through a pulled cable")
		}
		w.want(t, "Running/booted")
		w.host.Plug()
		w.want(t, "Inactive/destroyed")
	})
}

func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{})
		c := w.connect(t, w.fleet)
		w.host.LoseAnswers(1)
		if err := c.Define(within(t, time.Second), machine(vm, "i1")); err == nil || hypervisor.Answered(err) {
			t.Fatalf("define: %v, want no answer", err)
		}
		w.want(t, "Inactive/unknown")
	})
}

func TestRestartLibvirtd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{})
		c := w.connect(t, w.fleet)
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		ok(t, c.Create(t.Context(), vm, "i1"))
		w.host.RestartLibvirtd()
		w.want(t, "Running/booted")
		ends(c)
		w.host.GuestPowersOff(vm)
		w.want(t, "Inactive/shutdown")
		w.host.RestartLibvirtd()
		w.want(t, "Inactive/unknown")
	})
}

// How guests end, with what the events say, is as libvirt was seen to do it.
func TestGuests(t *testing.T) {
	tests := []struct {
		name   string
		guest  sim.Guest
		do     func(t *testing.T, w *world, c hypervisor.Conn)
		state  string
		events string
		cause  sim.Cause
	}{
		{"runs", sim.Guest{}, nil, "Running/booted", "", sim.CauseCall},
		{"boots slowly", sim.Guest{Boot: 2 * time.Minute}, nil, "Paused/startup", "", sim.CauseCall},
		{"does not start", sim.Guest{StartError: "no"}, nil, "Inactive/failed", "failed", sim.CauseCall},
		{"powers off", sim.Guest{PowersOffAfter: time.Second}, nil, "Inactive/shutdown", "shutdown-guest shutdown", sim.CauseGuest},
		{"crashes", sim.Guest{CrashesAfter: time.Second}, nil, "Inactive/crashed", "crashed", sim.CauseGuest},
		{"follows ACPI", sim.Guest{Shutdown: time.Second}, shutdown, "Inactive/shutdown", "shutdown-guest shutdown", sim.CauseCall},
		{"ignores ACPI", sim.Guest{IgnoresACPI: true}, shutdown, "Running/booted", "", sim.CauseCall},
		{"is deaf at first", sim.Guest{Deaf: time.Second}, shutdown, "Running/booted", "", sim.CauseCall},
		{"listens later", sim.Guest{Deaf: time.Second}, func(t *testing.T, w *world, c hypervisor.Conn) {
			time.Sleep(2 * time.Second)
			shutdown(t, w, c)
		}, "Inactive/shutdown", "shutdown-guest shutdown", sim.CauseCall},
		{"is destroyed", sim.Guest{}, func(t *testing.T, _ *world, c hypervisor.Conn) {
			ok(t, c.Destroy(t.Context(), vm, "i1"))
		}, "Inactive/destroyed", "destroyed", sim.CauseCall},
		{"is destroyed while starting", sim.Guest{Boot: time.Hour}, func(t *testing.T, _ *world, c hypervisor.Conn) {
			ok(t, c.Destroy(t.Context(), vm, "i1"))
		}, "Inactive/destroyed", "destroyed", sim.CauseCall},
		{"is destroyed by somebody", sim.Guest{}, func(_ *testing.T, w *world, _ hypervisor.Conn) {
			w.host.OutsiderDestroys(vm)
		}, "Inactive/destroyed", "destroyed", sim.CauseOutsider},
		{"is paused by a full disk", sim.Guest{PowersOffAfter: 30 * time.Second}, func(_ *testing.T, w *world, _ hypervisor.Conn) {
			w.host.OutsiderPauses(vm, hypervisor.WhyIOError)
		}, "Paused/ioerror", "", sim.CauseOutsider},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(sim.Options{Guest: func(hypervisor.Machine) sim.Guest { return tt.guest }})
				c := w.connect(t, w.fleet)
				ok(t, c.Define(t.Context(), machine(vm, "i1")))
				go c.Create(t.Context(), vm, "i1")
				synctest.Wait()
				if tt.do != nil {
					tt.do(t, w, c)
				}
				time.Sleep(time.Minute)
				w.want(t, tt.state)
				if last := w.seen[len(w.seen)-1]; last.Cause != tt.cause {
					t.Errorf("cause %q, want %q", last.Cause, tt.cause)
				}
				c.Close()
				var ends []string
				for ev := range c.Events() {
					if ev.Ended != "" {
						ends = append(ends, ev.Ended)
					}
				}
				if got := strings.Join(ends, " "); got != tt.events {
					t.Errorf("events tell %q, want %q", got, tt.events)
				}
			})
		})
	}
}

func shutdown(t *testing.T, _ *world, c hypervisor.Conn) { ok(t, c.Shutdown(t.Context(), vm, "i1")) }

func TestRefusals(t *testing.T) {
	w := newWorld(sim.Options{})
	c, ctx := w.connect(t, w.fleet), t.Context()
	alias := machine(vm, "i1")
	alias.MachineType = "pc-q35-99"
	lost := machine(vm, "i1")
	lost.Template.NICs = []v1.NIC{{Name: "n", Network: "nowhere"}}
	steps := []struct {
		name string
		do   func() error
		want string // in the error; empty: none
	}{
		{"create nothing", func() error { return c.Create(ctx, vm, "i1") }, hypervisor.ErrNotFound.Error()},
		{"unknown machine type", func() error { return c.Define(ctx, alias) }, "does not support machine type"},
		{"missing network is found by create", func() error { return c.Define(ctx, lost) }, ""},
		{"missing network", func() error { return c.Create(ctx, vm, "i1") }, "no network with matching name 'nowhere'"},
		{"define anew", func() error { return c.Define(ctx, machine(vm, "i1")) }, ""},
		{"other instance", func() error { return c.Create(ctx, vm, "i2") }, hypervisor.ErrOtherInstance.Error()},
		{"destroy while off", func() error { return c.Destroy(ctx, vm, "i1") }, ""},
		{"create", func() error { return c.Create(ctx, vm, "i1") }, ""},
		{"create again", func() error { return c.Create(ctx, vm, "i1") }, ""},
		{"define over a running one", func() error { return c.Define(ctx, machine(vm, "i2")) }, hypervisor.ErrActive.Error()},
		{"undefine a running one", func() error { return c.Undefine(ctx, vm, "i1", true) }, hypervisor.ErrActive.Error()},
		{"destroy", func() error { return c.Destroy(ctx, vm, "i1") }, ""},
		{"undefine", func() error { return c.Undefine(ctx, vm, "i1", true) }, ""},
		{"undefine again", func() error { return c.Undefine(ctx, vm, "i1", true) }, hypervisor.ErrNotFound.Error()},
	}
	for _, s := range steps {
		err := s.do()
		if s.want == "" && err != nil || s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) {
			t.Fatalf("%s: %v, want %q", s.name, err, s.want)
		}
		if err != nil && !hypervisor.Answered(err) {
			t.Fatalf("%s: %v is an answer", s.name, err)
		}
	}
}

func TestEventsAreLostDoubledAndDelayed(t *testing.T) {
	tell := func(o sim.Options) (events []hypervisor.Event) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(o)
			c := w.connect(t, w.fleet)
			for i := range 200 {
				ok(t, c.Define(t.Context(), machine(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), "i")))
			}
			time.Sleep(time.Minute)
			c.Close()
			for ev := range c.Events() {
				events = append(events, ev)
			}
		})
		return events
	}
	delayed := tell(sim.Options{EventDelay: sim.Range{Max: time.Second}})
	if len(delayed) < 64 || slices.IsSortedFunc(delayed, func(a, b hypervisor.Event) int { return strings.Compare(a.UUID, b.UUID) }) {
		t.Errorf("%d delayed events in order, want them to overtake each other", len(delayed))
	}
	o := sim.Options{EventDelay: sim.Range{Max: time.Second}, EventLoss: 30, EventTwice: 30, Seed: 7}
	unreliable := tell(o)
	seen := map[string]int{}
	for _, ev := range unreliable {
		seen[ev.UUID]++
	}
	twice := 0
	for _, n := range seen {
		if n == 2 {
			twice++
		}
	}
	if len(seen) == 200 || twice == 0 {
		t.Errorf("of 200 events %d were told, %d twice: want some lost and some doubled", len(seen), twice)
	}
	if !slices.Equal(unreliable, tell(o)) {
		t.Error("the same seed tells other events")
	}
}

// Ten thousand running domains need no goroutine, and a connection that nobody reads only one.
func TestIdleDomainsCostNothing(t *testing.T) {
	w := newWorld(sim.Options{})
	c := w.connect(t, w.fleet)
	before := runtime.NumGoroutine()
	for i := range 10_000 {
		uid := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		ok(t, c.Define(t.Context(), machine(uid, "i")))
		ok(t, c.Create(t.Context(), uid, "i"))
	}
	if n := runtime.NumGoroutine() - before; n > 1 {
		t.Errorf("%d goroutines more", n)
	}
	list, err := c.List(t.Context())
	ok(t, err)
	if len(list) != 10_000 || list[9_999].State != hypervisor.DomainRunning {
		t.Errorf("%d domains, the last %s", len(list), list[len(list)-1].State)
	}
	_, err = w.fleet.Connect(t.Context(), "sim://nowhere")
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("connect to an unknown host: %v", err)
	}
}

// A host that goes down in good order ends its guests first, and what it shows of them does not tell that it was the host.
func TestEndGuests(t *testing.T) {
	tests := []struct {
		how    sim.Farewell
		guest  sim.Guest
		state  string
		events string
	}{
		{sim.Sigterm, sim.Guest{}, "Inactive/shutdown", "shutdown-host shutdown"},
		{sim.ACPI, sim.Guest{Shutdown: time.Second}, "Inactive/shutdown", "shutdown-guest shutdown"},
		{sim.ACPI, sim.Guest{IgnoresACPI: true}, "Running/booted", ""},
		{sim.Saving, sim.Guest{}, "Inactive/saved", "saved"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(sim.Options{Guest: func(hypervisor.Machine) sim.Guest { return tt.guest }})
			c := w.connect(t, w.fleet)
			ok(t, c.Define(t.Context(), machine(vm, "i1")))
			ok(t, c.Create(t.Context(), vm, "i1"))
			w.host.EndGuests(tt.how)
			time.Sleep(time.Minute)
			w.want(t, tt.state)
			last := w.seen[len(w.seen)-1]
			if ended := last.State == hypervisor.DomainInactive; ended && last.Cause != sim.CausePower {
				t.Errorf("%s: an observer is told that it was by %q", tt.how, last.Cause)
			}
			c.Close()
			var ends []string
			for ev := range c.Events() {
				if ev.Ended != "" {
					ends = append(ends, ev.Ended)
				}
			}
			if got := strings.Join(ends, " "); got != tt.events {
				t.Errorf("%s: events tell %q, want %q", tt.how, got, tt.events)
			}
		})
	}
}
