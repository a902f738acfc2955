package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func TestHostIsToldUnreachableInTime(t *testing.T) {
	t.Run("it falls silent", func(t *testing.T) { silence(t, (*sim.Host).Freeze) })
	t.Run("it hangs up and then does not answer", func(t *testing.T) { silence(t, func(h *sim.Host) { h.Freeze(); h.Disconnect() }) })
}

func silence(t *testing.T, fall func(*sim.Host)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.fake = &fakeCore{}
		w.run(func(o *Options) { o.ConnectDeadline = 40 * time.Second }) // it is told in time though a try lasts longer
		pass(30 * time.Second)
		if up := events[core.HostConnected](w.fake); len(up) != 2 {
			t.Fatalf("%d hosts connected, want 2", len(up))
		}
		frozenAt := time.Now()
		fall(w.fleet.Host("a"))
		pass(2 * time.Minute)
		lost := events[core.HostLost](w.fake)
		if i := slices.IndexFunc(lost, func(l core.HostLost) bool { return l.Host != "a" }); i >= 0 {
			t.Errorf("another host was lost: %+v", lost[i])
		}
		first, last := toldAt(w.fake, func(ev core.Event) bool { l, ok := ev.(core.HostLost); return ok && l.Unreachable })
		if d := first.Sub(frozenAt); d < 10*time.Second || d > 20*time.Second {
			t.Errorf("a was called unreachable after %v, want about 15s", d)
		}
		if d := time.Since(last); d > 45*time.Second {
			t.Errorf("the last try to connect ended %v ago", d)
		}
		w.fleet.Host("a").Thaw()
		pass(45 * time.Second)
		up := events[core.HostConnected](w.fake)
		if len(up) != 3 || up[2].Host != "a" || up[2].Epoch <= max(up[0].Epoch, up[1].Epoch) {
			t.Errorf("after the thaw: %d connections, want a third, of a, with a higher epoch", len(up))
		}
	})
}

// A host that takes the connection, and falls silent while it is asked what it is and has, each time.
func TestHostThatDiesInTheGreetingIsToldUnreachableInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.fake = &fakeCore{}
		began := time.Now()
		w.run(func(o *Options) { o.Driver = fallsSilent{w.fleet, w.fleet.Host("a")} })
		pass(time.Minute)
		first, _ := toldAt(w.fake, func(ev core.Event) bool { l, ok := ev.(core.HostLost); return ok && l.Unreachable })
		if d := first.Sub(began); first.IsZero() || d < 15*time.Second || d > 16*time.Second {
			t.Errorf("a was called unreachable after %v, want 15s", d)
		}
		if lost := events[core.HostLost](w.fake); len(lost) < 2 || lost[0].Unreachable || !strings.Contains(lost[0].Err, "ask the host what it is") {
			t.Errorf("lost: %+v, want it told before what is wrong", lost)
		}
	})
}

// fallsSilent reaches a host that answers until the connection is made.
type fallsSilent struct {
	fleet *sim.Fleet
	host  *sim.Host
}

func (d fallsSilent) Connect(ctx context.Context, uri string) (hypervisor.Conn, error) {
	d.host.Thaw()
	defer d.host.Freeze()
	return d.fleet.Connect(ctx, uri)
}

// toldAt is when the core was told the first and the last event of a kind.
func toldAt(f *fakeCore, is func(core.Event) bool) (first, last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, ev := range f.seen {
		if is(ev) {
			if first.IsZero() {
				first = f.times[i]
			}
			last = f.times[i]
		}
	}
	return first, last
}

func TestFrozenHostDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.apply(newVM(0))
		w.apply(newVM(1))
		froze := false
		w.fake = &fakeCore{}
		up := map[string]bool{}
		w.fake.on = func(ev core.Event) (r core.Ready) {
			if c, ok := ev.(core.HostConnected); ok {
				up[c.Host] = true
			}
			if len(up) == 2 && !froze {
				froze = true
				w.fleet.Host("a").Freeze()
				r.Units = []core.Unit{launchUnit(0, 1, "a"), launchUnit(1, 1, "b")}
			}
			return r
		}
		w.run(nil)
		pass(time.Second)
		done := events[core.CommandDone](w.fake)
		if len(done) != 1 || done[0].ID != 2 || done[0].Outcome != core.Done || !done[0].Looked || done[0].Domain == nil {
			t.Fatalf("while a is frozen: %+v, want b's launch done and looked at", done)
		}
		pass(time.Minute)
		done = events[core.CommandDone](w.fake)
		if len(done) != 2 || done[1].Outcome != core.Unclear || done[1].Looked {
			t.Errorf("launch on the frozen host: %+v, want unclear and not looked at", done)
		}
	})
}

func TestNumbersOfObservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fleet = sim.New(sim.Options{Latency: sim.Range{Min: time.Second, Max: time.Second}})
		w.putHost("a", w.fleet.AddHost(sim.HostConfig{Name: "a"}).URI())
		w.apply(newVM(0))
		w.fake = launchOnConnect()
		w.run(func(o *Options) { o.ResyncInterval = 10 * time.Second })
		pass(40 * time.Second)
		up, done := events[core.HostConnected](w.fake), events[core.CommandDone](w.fake)
		seen, listed := events[core.DomainSeen](w.fake), events[core.HostListed](w.fake)
		if len(up) != 1 || len(done) != 1 || len(seen) == 0 || len(listed) < 3 {
			t.Fatalf("%d connections, %d results, %d looks, %d listings", len(up), len(done), len(seen), len(listed))
		}
		if up[0].Epoch == 0 || done[0].Epoch != up[0].Epoch || listed[0].Epoch != up[0].Epoch || seen[0].Epoch != up[0].Epoch {
			t.Errorf("epochs differ within one connection")
		}
		if up[0].Listing.Seq >= done[0].Seq {
			t.Errorf("the first listing has number %d, the command %d", up[0].Listing.Seq, done[0].Seq)
		}
		for i := 1; i < len(listed); i++ {
			if listed[i].Seq <= listed[i-1].Seq {
				t.Errorf("listings are not numbered in order: %d after %d", listed[i].Seq, listed[i-1].Seq)
			}
		}
		for _, l := range listed {
			if l.Seq > done[0].Seq && len(l.Domains) != 1 {
				t.Errorf("listing %d began after command %d ended and shows %d domains", l.Seq, done[0].Seq, len(l.Domains))
			}
		}
	})
}

func TestResyncFindsWhatEventsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fleet = sim.New(sim.Options{EventLoss: 100})
		h := w.fleet.AddHost(sim.HostConfig{Name: "a"})
		w.putHost("a", h.URI())
		w.fake = &fakeCore{}
		w.run(nil)
		pass(5 * time.Minute)
		before := len(events[core.HostListed](w.fake))
		if before < 4 || before > 5 {
			t.Errorf("%d listings in 5 minutes, want one a minute", before)
		}
		h.DefineForeign("stranger", 1<<30, true)
		pass(time.Minute)
		listed := events[core.HostListed](w.fake)
		if len(listed) != before+1 || len(listed[before].Domains) != 1 {
			t.Errorf("the listing after an event was lost shows nothing new")
		}
		if seen := events[core.DomainSeen](w.fake); len(seen) > 0 {
			t.Errorf("events came through: %+v", seen)
		}
	})
}

func TestEndsAreToldWithTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.apply(newVM(0))
		w.fake = launchOnConnect()
		w.run(nil)
		pass(time.Second)
		w.fleet.Host("a").GuestPowersOff(vmUID(0))
		pass(time.Second)
		seen := events[core.DomainSeen](w.fake)
		i := slices.IndexFunc(seen, func(s core.DomainSeen) bool { return s.Ended == "shutdown-guest" })
		if i < 0 || seen[i].Domain == nil || seen[i].Domain.State != hypervisor.DomainInactive {
			t.Errorf("the guest's own end was not told: %+v", seen)
		}
	})
}

func TestMovedAndRemovedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		w.putHost("a", w.fleet.Host("b").URI())
		pass(time.Second)
		up := events[core.HostConnected](w.fake)
		if len(up) != 3 || up[2].Host != "a" || up[2].Facts.Hostname != up[1].Facts.Hostname && up[2].Facts.Hostname != up[0].Facts.Hostname {
			t.Errorf("after its address changed a was not connected anew: %+v", up)
		}
		w.fleet.Host("a").DefineForeign("at the old address", 1<<20, true)
		pass(time.Second)
		for _, seen := range events[core.DomainSeen](w.fake) {
			t.Errorf("the old address is still looked at: %+v", seen)
		}
		w.put(layout.HostStatusKey("b"), []byte(`{}`)) // as if its last status had been written just now
		if _, err := w.store.Txn(t.Context(), store.Txn{Delete: []string{layout.HostSpecKey("b")}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if gone := events[core.HostRemoved](w.fake); len(gone) != 1 || gone[0].Name != "b" {
			t.Errorf("the removal was not told: %+v", gone)
		}
		if w.get(layout.HostStatusKey("b")) != nil {
			t.Errorf("the status of a removed host is left")
		}
		before := len(w.fake.seen)
		w.fleet.Host("b").DefineForeign("x", 1<<20, true) // a, at the same address, shows it; b must not
		pass(3 * time.Minute)
		for _, ev := range w.fake.seen[before:] {
			switch ev := ev.(type) {
			case core.HostListed:
				if ev.Host == "b" {
					t.Errorf("a removed host is still listed")
				}
			case core.DomainSeen:
				if ev.Host == "b" {
					t.Errorf("a removed host is still looked at")
				}
			}
		}
	})
}

func TestStatusOfARemovedHostGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.put(layout.HostStatusKey("forgotten"), []byte(`{}`))
		w.put(layout.RevisionKey(vmUID(7), 1), []byte(`{}`))
		w.put(layout.HostStatusKey("a"), []byte(`{}`))
		w.fake = &fakeCore{}
		w.run(nil)
		pass(time.Second)
		if got := w.keys(layout.Status); !slices.Equal(got, []string{layout.HostStatusKey("a")}) {
			t.Errorf("statuses left: %v", got)
		}
		if got := w.keys(layout.Revision); len(got) != 0 {
			t.Errorf("specs of a VM that is gone are left: %v", got)
		}
	})
}

// stub is a driver with one host that does what the test says.
type stub struct {
	mu       sync.Mutex
	log      []string
	err      map[string]error // by operation
	hang     map[string]bool
	inFlight int
	most     int
	hold     time.Duration // each call takes that long
	before   func(op string)
}

func (s *stub) Connect(context.Context, string) (hypervisor.Conn, error) {
	return &stubConn{stub: s, events: make(chan hypervisor.Event)}, nil
}

type stubConn struct {
	*stub
	events chan hypervisor.Event
	once   sync.Once
}

func (c *stubConn) call(ctx context.Context, op string) error {
	c.mu.Lock()
	c.log = append(c.log, op)
	c.inFlight++
	c.most = max(c.most, c.inFlight)
	err, hang, before := c.err[op], c.hang[op], c.before
	c.mu.Unlock()
	if before != nil {
		before(op)
	}
	sleep(ctx, c.hold)
	if hang {
		<-ctx.Done()
		err = ctx.Err()
		c.Close()
	}
	c.mu.Lock()
	c.inFlight--
	c.mu.Unlock()
	return err
}

func (c *stubConn) Facts(context.Context) (hypervisor.Facts, error)   { return hypervisor.Facts{}, nil }
func (c *stubConn) List(context.Context) ([]hypervisor.Domain, error) { return nil, nil }
func (c *stubConn) Events() <-chan hypervisor.Event                   { return c.events }
func (c *stubConn) Define(ctx context.Context, m hypervisor.Machine) error {
	return c.call(ctx, "define "+m.Template.Memory.String())
}
func (c *stubConn) Create(ctx context.Context, _, _ string) error   { return c.call(ctx, "create") }
func (c *stubConn) Shutdown(ctx context.Context, _, _ string) error { return c.call(ctx, "shutdown") }
func (c *stubConn) Destroy(ctx context.Context, _, _ string) error  { return c.call(ctx, "destroy") }
func (c *stubConn) Undefine(ctx context.Context, _, _ string, _ bool) error {
	return c.call(ctx, "undefine")
}

func (c *stubConn) Look(ctx context.Context, uuid string) (hypervisor.Domain, bool, error) {
	if uuid == nobody {
		return hypervisor.Domain{}, false, nil
	}
	return hypervisor.Domain{}, false, c.call(ctx, "look")
}

func (c *stubConn) Close() error {
	c.once.Do(func() { close(c.events) })
	return nil
}

func (s *stub) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// leased is a store whose terms say that they are valid when the test says so.
type leased struct {
	store.Store
	valid func() bool
}

func (l leased) Campaign(ctx context.Context, name string) (store.Term, error) {
	t, err := l.Store.Campaign(ctx, name)
	if err != nil {
		return nil, err
	}
	return leasedTerm{t, l.valid}, nil
}

type leasedTerm struct {
	store.Term
	valid func() bool
}

func (t leasedTerm) Valid() bool { return t.valid() }

func TestOutcomes(t *testing.T) {
	refused := &hypervisor.HostError{Op: "create domain", Message: "internal error: no luck"}
	for name, test := range map[string]struct {
		kind       core.CommandKind
		err        map[string]error
		hang       map[string]bool
		generation int64
		valid      int // how many calls the lease lasts
		want       core.Outcome
		message    string
		calls      string
		looked     bool
	}{
		"launch":                    {valid: 9, want: core.Done, calls: "define 64Mi,create,look", looked: true},
		"launch of an older spec":   {valid: 9, generation: 1, want: core.Done, calls: "define 32Mi,create,look", looked: true},
		"launch of a lost spec":     {valid: 9, generation: 7, want: core.Refused, message: "generation 7", calls: ""},
		"define refused":            {valid: 9, err: map[string]error{"define 64Mi": refused}, want: core.Refused, message: "no luck", calls: "define 64Mi,look", looked: true},
		"create refused":            {valid: 9, err: map[string]error{"create": refused}, want: core.Refused, message: "no luck", calls: "define 64Mi,create,look", looked: true},
		"create of another":         {valid: 9, err: map[string]error{"create": hypervisor.ErrOtherInstance}, want: core.Refused, calls: "define 64Mi,create,look", looked: true},
		"create without an answer":  {valid: 9, hang: map[string]bool{"create": true}, want: core.Unclear, calls: "define 64Mi,create,look", looked: true},
		"no connection for a look":  {valid: 9, err: map[string]error{"create": errors.New("eof"), "look": errors.New("eof")}, want: core.Unclear, calls: "define 64Mi,create,look"},
		"no lease":                  {valid: 0, want: core.Unsent, message: "lead", calls: ""},
		"lease ends before create":  {valid: 1, want: core.Unclear, message: "lead", calls: "define 64Mi,look", looked: true},
		"shutdown of nothing":       {kind: core.CommandShutdown, valid: 9, err: map[string]error{"shutdown": hypervisor.ErrNotFound}, want: core.Done, calls: "shutdown,look", looked: true},
		"destroy of nothing":        {kind: core.CommandDestroy, valid: 9, err: map[string]error{"destroy": hypervisor.ErrNotFound}, want: core.Done, calls: "destroy,look", looked: true},
		"destroy of another":        {kind: core.CommandDestroy, valid: 9, err: map[string]error{"destroy": hypervisor.ErrOtherInstance}, want: core.Refused, calls: "destroy,look", looked: true},
		"undefine of nothing":       {kind: core.CommandUndefine, valid: 9, err: map[string]error{"undefine": hypervisor.ErrNotFound}, want: core.Done, calls: "undefine,look", looked: true},
		"undefine of an active one": {kind: core.CommandUndefine, valid: 9, err: map[string]error{"undefine": hypervisor.ErrActive}, want: core.Refused, calls: "undefine,look", looked: true},
		"look":                      {kind: core.CommandLook, valid: 0, want: core.Done, calls: "look", looked: true},
		"look without an answer":    {kind: core.CommandLook, valid: 9, hang: map[string]bool{"look": true}, want: core.Unclear, calls: "look"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				old, vm := newVM(0), newVM(0)
				old.Spec.Template.Memory = 32 << 20
				vm.Metadata.Generation = 2
				w.apply(old)
				w.apply(vm)
				w.putHost("a", "stub://a")
				if test.generation == 0 {
					test.generation = 2
				}
				sent := false
				w.fake = &fakeCore{on: func(ev core.Event) (r core.Ready) {
					if _, ok := ev.(core.HostConnected); ok && !sent {
						sent = true
						u := launchUnit(0, test.generation, "a")
						u.Commands[0].Kind = test.kind
						r.Units = []core.Unit{u}
					}
					return r
				}}
				driver := &stub{err: test.err, hang: test.hang}
				valid := func() bool { test.valid--; return test.valid >= 0 }
				w.run(func(o *Options) { o.Driver, o.Store = driver, leased{w.store, valid} })
				pass(45 * time.Second)
				done := events[core.CommandDone](w.fake)
				if len(done) != 1 {
					t.Fatalf("%d outcomes", len(done))
				}
				d := done[0]
				if d.Outcome != test.want || !strings.Contains(d.Message, test.message) || d.Looked != test.looked || d.Seq == 0 {
					t.Errorf("outcome %+v, want %v with %q, looked %v", d, test.want, test.message, test.looked)
				}
				if got := strings.Join(driver.calls(), ","); got != test.calls {
					t.Errorf("calls %q, want %q", got, test.calls)
				}
			})
		})
	}
}

func TestUnconnectedHostAnswersUnsentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.apply(newVM(0))
		w.fleet.Host("a").PowerOff()
		w.fake = &fakeCore{on: func(ev core.Event) (r core.Ready) {
			if _, ok := ev.(core.Loaded); ok {
				r.Units = []core.Unit{launchUnit(0, 1, "a"), launchUnit(0, 1, "nowhere")}
			}
			return r
		}}
		w.run(nil)
		pass(10 * time.Millisecond)
		done := events[core.CommandDone](w.fake)
		if len(done) != 2 || done[0].Outcome != core.Unsent || done[1].Outcome != core.Unsent || done[0].Looked {
			t.Errorf("outcomes %+v, want two unsent", done)
		}
	})
}

func TestCommandsOfAHostAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.putHost("a", "stub://a")
		driver := &stub{hold: time.Second}
		w.fake = &fakeCore{on: func(ev core.Event) (r core.Ready) {
			if _, ok := ev.(core.HostConnected); ok {
				var u core.Unit
				for n := range 12 {
					u.Commands = append(u.Commands, core.Command{ID: uint64(n), Kind: core.CommandDestroy, Host: "a", UUID: vmUID(n)})
				}
				r.Units = []core.Unit{u}
			}
			return r
		}}
		w.run(func(o *Options) { o.Driver = driver })
		pass(6500 * time.Millisecond)
		if done := events[core.CommandDone](w.fake); len(done) != 12 || driver.most != 4 {
			t.Errorf("%d commands done with %d at once, want 12 with 4", len(done), driver.most)
		}
	})
}

// A term that ends takes everything along, whatever hosts are doing: nothing is sent any more, and nobody waits for them.
func TestEndWaitsForNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.apply(newVM(0))
		w.apply(newVM(1))
		w.putHost("a", "stub://a")
		w.fake = &fakeCore{on: func(ev core.Event) (r core.Ready) {
			if _, ok := ev.(core.HostConnected); ok {
				r.Units = []core.Unit{launchUnit(0, 1, "a"), launchUnit(1, 1, "a")}
			}
			return r
		}}
		driver := &stub{hang: map[string]bool{"define 64Mi": true}}
		stop := w.run(func(o *Options) { o.Driver, o.CommandsPerHost = driver, 1 })
		pass(time.Second)
		before := time.Now()
		stop()
		if d := time.Since(before); d > 0 {
			t.Errorf("the end took %v", d)
		}
		if got := driver.calls(); !slices.Equal(got, []string{"define 64Mi"}) {
			t.Errorf("calls %v, want only the one that hung", got)
		}
		if leaders := w.keys(layout.Leader); len(leaders) > 0 {
			t.Errorf("the lease was not given up: %v", leaders)
		}
	})
}
