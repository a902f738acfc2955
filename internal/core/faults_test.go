package core_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// TestFaults drives the core through random histories in which everything that may go wrong does: commands are refused, lost, carried
// out late or twice; hosts vanish and return; observations come late, twice and in any order; and the control plane dies between any
// two units, with only a prefix of them written and only some of their commands sent. The promises are checked on what the hosts
// really did, and at the end, with all faults healed, every VM must be as its owner wants.
func TestFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(5, 60).Draw(t, "moves") {
			w.move()
			w.check()
		}
		w.heal()
	})
}

type realDomain struct {
	instance string
	running  bool
	why      string
}

type realHost struct {
	name    string
	up      bool
	domains map[string]*realDomain
	epoch   int64
	seq     int64
	memory  v1.Quantity
	// boot counts the host's boots; dead: it has no power.
	boot int
	dead bool
	word *v1.ConfirmedDown
}

// world is the truth: what hosts run, what is stored, what users asked for.
type world struct {
	t     *rapid.T
	core  *core.Core
	now   time.Time
	hosts []*realHost

	specs  map[string]*v1.VirtualMachine // by uid
	stored map[string]*v1.VirtualMachineStatus
	states map[string]v1.HostStatus
	posted []*v1.Action

	// flight are commands that were sent and have not been carried out; late are those whose caller has given up or died.
	flight []core.Command
	late   []lateCall
	// mail are observations under way to the core.
	mail []core.Event
	// asked: somebody allowed this VM's instance to end.
	asked map[string]bool
	// stopped: since an acknowledged stop, with the ids of the instances there were.
	stopped map[string]int64
	next    int
}

var vmNames = []string{"a", "b", "c"}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), specs: map[string]*v1.VirtualMachine{},
		stored: map[string]*v1.VirtualMachineStatus{}, states: map[string]v1.HostStatus{}, asked: map[string]bool{}, stopped: map[string]int64{}}
	for _, name := range []string{"h1", "h2"} {
		// Room for two of the three VMs on each host.
		w.hosts = append(w.hosts, &realHost{name: name, up: true, domains: map[string]*realDomain{}, memory: 450 << 20})
	}
	w.newTerm()
	return w
}

func (w *world) step(ev core.Event) { w.core.Step(w.now, ev) }

func (w *world) newTerm() {
	for _, cmd := range w.flight {
		if !w.host(cmd.Host).dead {
			w.becomeLate(cmd)
		}
	}
	w.flight, w.mail = nil, nil
	w.core = core.New()
	w.step(core.ConfigChanged{Config: &v1.ClusterConfig{Metadata: v1.ObjectMeta{UID: "cluster"}}})
	for _, h := range w.hosts {
		w.step(core.HostChanged{Host: w.object(h)})
		h.epoch, h.seq = 0, 0
	}
	for _, uid := range slices.Sorted(maps.Keys(w.specs)) {
		c := *w.specs[uid]
		if st := w.stored[uid]; st != nil {
			c.Status = *st
		}
		w.step(core.VMChanged{VM: &c})
	}
	for _, a := range w.posted {
		w.step(core.ActionPosted{Action: a})
	}
	w.step(core.Loaded{Grace: v1.Duration(10 * time.Second)})
	w.flush(-1)
	for _, h := range w.hosts {
		if h.up {
			w.connect(h)
		}
	}
	w.flush(-1)
}

func (w *world) object(h *realHost) *v1.Host {
	o := &v1.Host{Metadata: v1.ObjectMeta{Name: h.name, Generation: 1}, Spec: v1.HostSpec{ConfirmedDown: h.word}, Status: w.states[h.name]}
	if h.word != nil {
		o.Metadata.Generation += h.word.At.Unix()
	}
	return o
}

func (w *world) connect(h *realHost) {
	h.epoch++
	h.seq++
	w.step(core.HostConnected{Host: h.name, Epoch: h.epoch, Facts: hypervisor.Facts{UUID: h.name, BootID: fmt.Sprint(h.boot), Memory: h.memory, CPUs: 8,
		MachineTypes: map[string]string{"q35": "pc-q35-7.2", "pc-q35-7.2": "pc-q35-7.2"}}, Listing: w.listing(h)})
}

func (w *world) listing(h *realHost) core.HostListed {
	ev := core.HostListed{Host: h.name, Epoch: h.epoch, Seq: h.seq}
	for _, uid := range slices.Sorted(maps.Keys(h.domains)) {
		ev.Domains = append(ev.Domains, *w.show(h, uid))
	}
	return ev
}

func (w *world) show(h *realHost, uid string) *hypervisor.Domain {
	d := h.domains[uid]
	if d == nil {
		return nil
	}
	state, why := hypervisor.DomainInactive, d.why
	if d.running {
		state, why = hypervisor.DomainRunning, "booted"
	}
	return &hypervisor.Domain{UUID: uid, ClusterUID: "cluster", VMUID: uid, InstanceID: d.instance, State: state, Why: why, Memory: 64 << 20, VCPUs: 1}
}

// flush writes the first n units and sends their commands; all of them when n is negative. It reports whether any were left out.
func (w *world) flush(n int) bool {
	units := w.core.Ready().Units
	for i, u := range units {
		if i == n {
			return true
		}
		for _, wr := range u.Writes {
			w.write(wr)
		}
		w.flight = append(w.flight, u.Commands...)
	}
	return false
}

func (w *world) write(wr core.Write) {
	switch wr := wr.(type) {
	case core.WriteVM:
		w.stored[wr.UID] = wr.Status
		if limit, held := w.stopped[wr.UID]; held && wr.Status.Instances > limit {
			w.t.Fatalf("StopSticks: %s got instance %d after an acknowledged stop", wr.Key, wr.Status.Instances)
		}
	case core.DeleteVM:
		for _, h := range w.hosts {
			if d := h.domains[wr.UID]; d != nil && d.running {
				w.t.Fatalf("deleted %s while it runs on %s", wr.Key, h.name)
			}
		}
		delete(w.specs, wr.UID)
		delete(w.stored, wr.UID)
	case core.WriteHost:
		w.states[wr.Name] = *wr.Status
	case core.WriteAction:
		for i, a := range w.posted {
			if a.Metadata.Name != wr.Name {
				continue
			}
			if a.Status.Phase != "" {
				w.t.Fatalf("ActionsOnce: %s %s took effect twice", a.Spec.Type, a.Metadata.Name)
			}
			done := *a
			done.Status = wr.Status
			w.posted[i] = &done
		}
	case core.DeleteAction:
		w.posted = slices.DeleteFunc(w.posted, func(a *v1.Action) bool { return a.Metadata.Name == wr.Name })
	}
}

// move is one random thing that happens.
func (w *world) move() {
	t := w.t
	h := w.hosts[rapid.IntRange(0, len(w.hosts)-1).Draw(t, "host")]
	switch rapid.SampledFrom([]string{"run", "run", "run", "deliver", "deliver", "apply", "action", "action", "guest", "cut", "return", "late", "power", "confirm",
		"time", "time", "list", "kill", "again", "drop"}).Draw(t, "move") {
	case "run":
		w.runOne(rapid.SampledFrom([]string{"done", "done", "done", "refused", "unclear-done", "unclear-late", "unsent"}).Draw(t, "outcome"))
	case "deliver":
		if len(w.mail) > 0 {
			i := rapid.IntRange(0, len(w.mail)-1).Draw(t, "mail")
			w.step(w.mail[i])
			w.mail = append(w.mail[:i:i], w.mail[i+1:]...)
		}
	case "again":
		if len(w.mail) > 0 {
			w.step(w.mail[0]) // and it stays: it comes twice
		}
	case "drop":
		if len(w.mail) > 0 {
			if _, result := w.mail[0].(core.CommandDone); !result { // the engine never loses an outcome, events may be lost
				w.mail = w.mail[1:]
			}
		}
	case "apply":
		w.apply()
	case "action":
		w.action()
	case "guest":
		for _, uid := range slices.Sorted(maps.Keys(h.domains)) {
			if d := h.domains[uid]; d.running && rapid.Bool().Draw(t, "ends") {
				d.running, d.why = false, rapid.SampledFrom([]string{"shutdown", "crashed"}).Draw(t, "why")
				w.look(h, uid)
			}
		}
	case "cut":
		if h.up {
			h.up = false
			w.step(core.HostLost{Host: h.name, Epoch: h.epoch, Err: "gone", Unreachable: rapid.Bool().Draw(t, "unreachable")})
		}
	case "power":
		if !h.dead {
			w.power(h)
			w.step(core.HostLost{Host: h.name, Epoch: h.epoch, Err: "gone", Unreachable: rapid.Bool().Draw(t, "unreachable")})
		}
	case "confirm":
		if h.dead { // a person's word is true here; when it is not, that person has let the VM run twice
			w.now = w.now.Add(time.Second)
			h.word = &v1.ConfirmedDown{By: "ann", At: w.now}
			w.step(core.HostChanged{Host: w.object(h)})
		}
	case "return":
		if !h.up {
			h.up, h.dead = true, false
			h.seq++
			w.connect(h)
		}
	case "late":
		if len(w.late) > 0 {
			w.carryOutLate(w.late[rapid.IntRange(0, len(w.late)-1).Draw(t, "late")].cmd)
		}
	case "time":
		// Calls of a leader are over soon: what it has sent and is still on its way is carried out before the grace is.
		w.pass(rapid.SampledFrom([]time.Duration{time.Second, 6 * time.Second, 20 * time.Second, 3 * time.Minute, 6 * time.Minute}).Draw(t, "by"))
	case "list":
		if h.up && h.epoch > 0 {
			h.seq++
			w.mail = append(w.mail, w.listing(h))
		}
	case "kill":
		w.flush(rapid.IntRange(0, 3).Draw(t, "written"))
		keep := rapid.IntRange(0, len(w.flight)).Draw(t, "sent")
		w.flight = w.flight[:keep]
		w.newTerm()
	}
	w.flush(-1)
}

// power cuts the host's power: what ran is over, libvirt forgets, and what was on its way is lost.
func (w *world) power(h *realHost) {
	h.up, h.dead = false, true
	h.boot++
	for _, d := range h.domains { // any order: each alike
		d.running, d.why = false, "unknown"
	}
	w.late = slices.DeleteFunc(w.late, func(l lateCall) bool { return l.cmd.Host == h.name })
}

// pass lets time go by. Late commands may outlive it only as single calls: a launch that has been defined is created at once or never.
func (w *world) pass(by time.Duration) {
	w.now = w.now.Add(by)
	w.step(core.Tick{})
}

func (w *world) host(name string) *realHost {
	i := slices.IndexFunc(w.hosts, func(h *realHost) bool { return h.name == name })
	return w.hosts[i]
}

func (w *world) look(h *realHost, uid string) {
	if h.up && h.epoch > 0 {
		h.seq++
		w.mail = append(w.mail, core.DomainSeen{Host: h.name, Epoch: h.epoch, Seq: h.seq, UUID: uid, Domain: w.show(h, uid)})
	}
}

// runOne carries out the oldest command in flight.
func (w *world) runOne(how string) {
	if len(w.flight) == 0 {
		return
	}
	cmd := w.flight[0]
	w.flight = w.flight[1:]
	h := w.host(cmd.Host)
	ev := core.CommandDone{ID: cmd.ID, Epoch: h.epoch, Outcome: core.Done}
	switch {
	case !h.up:
		ev.Outcome = core.Unsent
		if how == "unclear-late" {
			ev.Outcome = core.Unclear
			if !h.dead {
				w.becomeLate(cmd)
			}
		}
	case how == "unsent" || cmd.Epoch != h.epoch:
		ev.Outcome = core.Unsent
	case how == "refused":
		ev.Outcome, ev.Message = core.Refused, "no"
		if cmd.Kind == core.CommandLaunch && h.domains[cmd.UUID] == nil {
			h.domains[cmd.UUID] = &realDomain{instance: cmd.Instance, why: "unknown"} // defined, and create was refused
		}
	case how == "unclear-late":
		ev.Outcome = core.Unclear
		w.becomeLate(cmd)
	case how == "unclear-done":
		ev.Outcome = core.Unclear
		w.carryOut(h, cmd)
	default:
		if cmd.Kind == core.CommandLaunch {
			w.workOff(cmd)
		}
		w.carryOut(h, cmd)
	}
	h.seq++
	ev.Seq = h.seq
	if h.up && ev.Outcome != core.Unclear {
		ev.Looked, ev.Domain = true, w.show(h, cmd.UUID)
	}
	w.step(ev)
}

// lateCall is a call that sits in a host's queue while its caller has given up or is dead.
type lateCall struct {
	cmd core.Command
	// create: the launch got as far as its second call. False: the first, or another command's only one.
	create bool
}

// workOff carries out all calls that wait for the command's domain: the host takes the calls for one domain in order, so one that has
// defined it anew has nothing older to come.
func (w *world) workOff(cmd core.Command) {
	for slices.ContainsFunc(w.late, func(l lateCall) bool { return l.cmd.Host == cmd.Host && l.cmd.UUID == cmd.UUID }) {
		w.carryOutLate(cmd)
	}
}

// becomeLate leaves a command's call in its host's queue. A launch that has reached its second call got an answer to its first.
func (w *world) becomeLate(cmd core.Command) {
	l := lateCall{cmd: cmd}
	if h := w.host(cmd.Host); cmd.Kind == core.CommandLaunch && h.up && rapid.Bool().Draw(w.t, "defined") {
		w.workOff(cmd)
		if d := h.domains[cmd.UUID]; d == nil || !d.running {
			h.domains[cmd.UUID] = &realDomain{instance: cmd.Instance, why: "unknown"}
		}
		l.create = true
	}
	w.late = append(w.late, l)
}

// carryOutLate carries out the oldest call that waits for the domain which like is about.
func (w *world) carryOutLate(like core.Command) {
	i := slices.IndexFunc(w.late, func(l lateCall) bool { return l.cmd.Host == like.Host && l.cmd.UUID == like.UUID })
	l := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	h := w.host(l.cmd.Host)
	d := h.domains[l.cmd.UUID]
	switch {
	case l.cmd.Kind != core.CommandLaunch:
		w.carryOut(h, l.cmd)
	case !l.create && (d == nil || !d.running):
		h.domains[l.cmd.UUID] = &realDomain{instance: l.cmd.Instance, why: "unknown"}
	case l.create && d != nil && !d.running: // libvirt starts what has that UUID by then, whichever instance it is
		w.start(h, l.cmd.UUID)
	}
}

func (w *world) carryOut(h *realHost, cmd core.Command) {
	d := h.domains[cmd.UUID]
	switch cmd.Kind {
	case core.CommandLaunch:
		if d != nil && d.running {
			return
		}
		h.domains[cmd.UUID] = &realDomain{instance: cmd.Instance, why: "unknown"}
		w.start(h, cmd.UUID)
	case core.CommandShutdown, core.CommandDestroy:
		if d == nil || !d.running || d.instance != cmd.Instance {
			return
		}
		st := w.stored[cmd.UUID]
		current := st != nil && st.Instance != nil && st.Instance.ID == d.instance
		if current && !w.asked[cmd.UUID] && st.Instance.Abandon == nil {
			w.t.Fatalf("NoUnforcedStop: %s of %s on %s, and nobody asked", cmd.Kind, cmd.UUID, h.name)
		}
		d.running, d.why = false, map[core.CommandKind]string{core.CommandShutdown: "shutdown", core.CommandDestroy: "destroyed"}[cmd.Kind]
		w.look(h, cmd.UUID)
	case core.CommandUndefine:
		if d != nil && !d.running && d.instance == cmd.Instance {
			delete(h.domains, cmd.UUID)
		}
	}
}

func (w *world) start(h *realHost, uid string) {
	h.domains[uid].running = true
	for _, other := range w.hosts {
		if d := other.domains[uid]; other != h && d != nil && d.running {
			w.t.Fatalf("OneInstance: %s runs on %s (%s) and on %s (%s)", uid, h.name, h.domains[uid].instance, other.name, d.instance)
		}
	}
	w.look(h, uid)
}

func (w *world) apply() {
	t := w.t
	name := rapid.SampledFrom(vmNames).Draw(t, "vm")
	var vm *v1.VirtualMachine
	for _, uid := range slices.Sorted(maps.Keys(w.specs)) {
		if w.specs[uid].Metadata.Name == name {
			vm = w.specs[uid]
		}
	}
	if vm == nil {
		w.next++
		vm = &v1.VirtualMachine{Metadata: v1.ObjectMeta{Namespace: "default", Name: name, UID: fmt.Sprintf("uid-%s-%d", name, w.next)}}
		vm.Spec.Template.Memory = 64 << 20
	} else if vm.Metadata.DeletionTimestamp != nil {
		return
	}
	c := *vm
	c.Metadata.Generation++
	c.Spec.RunStrategy = rapid.SampledFrom([]v1.RunStrategy{v1.RunAlways, v1.RunAlways, v1.RunManual, v1.RunRerunOnFailure, v1.RunOnce, v1.RunHalted}).Draw(t, "strategy")
	if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
		at := w.now
		c.Metadata.DeletionTimestamp = &at
	}
	if c.Spec.RunStrategy == v1.RunHalted || c.Metadata.DeletionTimestamp != nil {
		w.asked[c.Metadata.UID] = true
	}
	w.specs[c.Metadata.UID] = &c
	w.step(core.VMChanged{VM: &c})
}

func (w *world) action() {
	if len(w.specs) == 0 {
		return
	}
	uid := rapid.SampledFrom(slices.Sorted(maps.Keys(w.specs))).Draw(w.t, "of")
	w.next++
	a := &v1.Action{Metadata: v1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("action-%04d", 10000-w.next), ResourceVersion: fmt.Sprint(w.next)},
		Spec: v1.ActionSpec{Type: rapid.SampledFrom([]v1.ActionType{v1.ActionStart, v1.ActionStop, v1.ActionRestart}).Draw(w.t, "action"),
			VM: w.specs[uid].Metadata.Name, VMUID: uid, Force: rapid.Bool().Draw(w.t, "force"), ExpiresAt: w.now.Add(24 * time.Hour)}}
	w.posted = append(w.posted, a)
	delete(w.stopped, uid)
	if a.Spec.Type != v1.ActionStart {
		w.asked[uid] = true
	}
	w.step(core.ActionPosted{Action: a})
	w.flush(-1)
	if st := w.stored[uid]; st != nil && a.Spec.Type == v1.ActionStop && st.Hold != nil {
		w.stopped[uid] = st.Instances
	}
}

// check is what must hold at every moment.
func (w *world) check() {
	promised := map[string]v1.Quantity{}
	for _, uid := range slices.Sorted(maps.Keys(w.stored)) {
		st := w.stored[uid]
		if in := st.Instance; in != nil {
			promised[in.Host] += in.Memory
		}
		vm := w.specs[uid]
		if vm == nil {
			continue
		}
		if vm.Metadata.DeletionTimestamp == nil && lifecycle.WantsOn(vm.Spec.RunStrategy, st) && st.Instance == nil && st.Waiting == nil && st.ObservedGeneration == vm.Metadata.Generation {
			w.t.Fatalf("EverythingHasAReason: %s should run, has no instance, and nothing says why: %+v", uid, st)
		}
	}
	for _, h := range w.hosts {
		if promised[h.name] > h.memory {
			w.t.Fatalf("NoOvercommit: %s promised %s of %s", h.name, promised[h.name], h.memory)
		}
	}
}

// heal mends all faults, lets everything play out, and wants every VM as its owner does.
func (w *world) heal() {
	for len(w.late) > 0 {
		w.carryOutLate(w.late[0].cmd)
	}
	for _, h := range w.hosts {
		if !h.up {
			h.up, h.dead = true, false
			w.connect(h)
		}
	}
	for round := 0; ; round++ {
		w.flush(-1)
		switch {
		case len(w.flight) > 0:
			w.runOne("done")
		case len(w.mail) > 0:
			w.step(w.mail[0])
			w.mail = w.mail[1:]
		case round > 400:
			w.settled()
			return
		default:
			for _, h := range w.hosts {
				h.seq++
				w.mail = append(w.mail, w.listing(h))
			}
			w.pass(time.Minute)
		}
		if round > 5000 {
			w.t.Fatalf("it never comes to rest: %v", w.flight)
		}
		w.check()
	}
}

func (w *world) settled() {
	for uid, vm := range w.specs {
		st := w.stored[uid]
		if vm.Metadata.DeletionTimestamp != nil {
			w.t.Fatalf("%s was to be deleted and is still there: %s %+v", uid, st.PrintableStatus, st)
		}
		running := 0
		for _, h := range w.hosts {
			if d := h.domains[uid]; d != nil && d.running {
				running++
			}
		}
		want := 0
		if lifecycle.WantsOn(vm.Spec.RunStrategy, st) {
			want = 1
		}
		if running != want {
			w.t.Fatalf("%s runs %d times and should %d: %s %+v, waits: %+v", uid, running, want, st.PrintableStatus, st, st.Waiting)
		}
		if want == 1 && st.PrintableStatus != v1.PrintableRunning || want == 0 && st.PrintableStatus != v1.PrintableStopped {
			w.t.Fatalf("%s shows %s", uid, st.PrintableStatus)
		}
	}
	for _, a := range w.posted {
		if a.Status.Phase == "" {
			w.t.Fatalf("action %s was never acted on", a.Metadata.Name)
		}
	}
	for _, h := range w.hosts {
		for uid, d := range h.domains {
			// A define that came after everything may leave a definition that was never started and never will be.
			if w.specs[uid] == nil && (d.running || d.why != "unknown") {
				w.t.Fatalf("%s has left a domain on %s: %+v", uid, h.name, d)
			}
		}
	}
}
