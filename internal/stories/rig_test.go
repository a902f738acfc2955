package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// rig drives one core by hand against simulated hosts: whoever holds it decides in which order hosts carry out commands, and in
// which order, how often and how late the core is told what they show. Writes are durable at once.
type rig struct {
	core   *core.Core
	now    time.Time
	fleet  *sim.Fleet
	conns  map[string]hypervisor.Conn
	epochs map[string]int64
	seq    int64
	specs  map[string]*v1.VirtualMachine // by name
	states map[string]*v1.VirtualMachineStatus
	asked  int

	orders   []core.Command
	messages []core.Event // observations that are on their way to the core
	log      []invariant.Entry
	rev      int64
}

const rigCluster = "c0ffee00-0000-4000-8000-000000000000"

func newRig(hosts int) *rig {
	r := &rig{
		core: core.New(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), conns: map[string]hypervisor.Conn{},
		epochs: map[string]int64{}, specs: map[string]*v1.VirtualMachine{}, states: map[string]*v1.VirtualMachineStatus{},
	}
	r.fleet = sim.New(sim.Options{
		OnChange: func(c sim.Change) {
			r.note(invariant.Domain{Host: c.Host, UUID: c.UUID, Instance: c.Instance, State: c.State, Why: c.Why, Memory: c.Memory,
				VCPUs: c.VCPUs, By: invariant.Cause(c.Cause), Op: c.Op})
		},
		OnCall: func(c sim.Call) { r.note(invariant.Call{Host: c.Host, Op: c.Op, UUID: c.UUID, Instance: c.Instance}) },
	})
	config := &v1.ClusterConfig{Metadata: v1.ObjectMeta{UID: rigCluster}, Spec: v1.ClusterConfigSpec{StartLimit: v1.StartLimit{PerHost: 2}}}
	r.commit(put(layout.ConfigSpecKey(), layout.Encode(config)))
	r.step(core.ConfigChanged{Config: config})
	for i := range hosts {
		h := r.fleet.AddHost(sim.HostConfig{Name: fmt.Sprintf("h%d", i+1)})
		o := &v1.Host{Metadata: v1.ObjectMeta{Name: h.Name(), UID: "uid-" + h.Name(), Generation: 1}, Spec: v1.HostSpec{URI: h.URI()}}
		r.commit(put(layout.HostSpecKey(h.Name()), layout.EncodeHostSpec(o)))
		r.step(core.HostChanged{Host: o})
	}
	r.step(core.Loaded{})
	for _, h := range r.fleet.Hosts() {
		r.connect(h.Name())
	}
	return r
}

func put(key string, value []byte) store.Change {
	return store.Change{KV: store.KV{Key: key, Value: value}}
}

func (r *rig) note(f invariant.Fact) {
	r.log = append(r.log, invariant.Entry{At: r.now, Rev: r.rev, Fact: f})
}

func (r *rig) commit(changes ...store.Change) {
	r.rev++
	r.note(invariant.Commit{Changes: changes})
}

// step tells the core something, makes its decisions durable, and puts its commands on their way.
func (r *rig) step(ev core.Event) {
	r.core.Step(r.now, ev)
	for _, u := range r.core.Ready().Units {
		var changes []store.Change
		for _, w := range u.Writes {
			changes = append(changes, r.write(w)...)
		}
		if len(changes) > 0 {
			r.commit(changes...)
		}
		r.orders = append(r.orders, u.Commands...)
	}
}

func (r *rig) write(w core.Write) []store.Change {
	switch w := w.(type) {
	case core.WriteVM:
		r.states[w.Key.Name] = w.Status
		return []store.Change{put(layout.VMStatusKey(w.Key.Namespace, w.Key.Name), layout.Encode(layout.StatusOf[*v1.VirtualMachineStatus]{UID: w.UID, Status: w.Status}))}
	case core.DeleteVM:
		delete(r.states, w.Key.Name)
		delete(r.specs, w.Key.Name)
		return []store.Change{{KV: store.KV{Key: layout.VMSpecKey(w.Key.Namespace, w.Key.Name)}, Deleted: true}}
	case core.WriteHost:
		return []store.Change{put(layout.HostStatusKey(w.Name), layout.Encode(layout.StatusOf[*v1.HostStatus]{Status: w.Status}))}
	case core.WriteAction:
		return []store.Change{put(layout.ActionStatusKey(w.Namespace, w.Name), layout.Encode(layout.StatusOf[v1.ActionStatus]{Status: w.Status}))}
	}
	return nil
}

// connect makes a new connection to a host, which the core is told of at once.
func (r *rig) connect(name string) {
	if old := r.conns[name]; old != nil {
		old.Close()
		r.step(core.HostLost{Host: name, Epoch: r.epochs[name], Err: "lost"})
	}
	c, err := r.fleet.Connect(context.Background(), r.fleet.Host(name).URI())
	must(err)
	r.conns[name] = c
	r.epochs[name]++
	facts, err := c.Facts(context.Background())
	must(err)
	r.step(core.HostConnected{Host: name, Epoch: r.epochs[name], Facts: facts, Listing: r.list(name)})
}

func must(err error) {
	if err != nil {
		panic(err) // simulated hosts without faults do not fail
	}
}

func (r *rig) next() int64 { r.seq++; return r.seq }

func (r *rig) list(host string) core.HostListed {
	l := core.HostListed{Host: host, Epoch: r.epochs[host], Seq: r.next()}
	var err error
	l.Domains, err = r.conns[host].List(context.Background())
	must(err)
	return l
}

func (r *rig) look(host, uuid string) *hypervisor.Domain {
	d, found, err := r.conns[host].Look(context.Background(), uuid)
	must(err)
	if !found {
		return nil
	}
	return &d
}

// observe turns what the hosts' events point to into observations on their way.
func (r *rig) observe() {
	for _, host := range slices.Sorted(maps.Keys(r.conns)) {
		for more := true; more; {
			select {
			case ev, open := <-r.conns[host].Events():
				if more = open; open {
					seen := core.DomainSeen{Host: host, Epoch: r.epochs[host], Seq: r.next(), UUID: ev.UUID, Ended: ev.Ended}
					seen.Domain = r.look(host, ev.UUID)
					r.messages = append(r.messages, seen)
				}
			default:
				more = false
			}
		}
	}
}

// carryOut lets a host do the i-th command that is on its way.
func (r *rig) carryOut(i int) {
	o := r.orders[i]
	r.orders = slices.Delete(r.orders, i, i+1)
	c, ctx := r.conns[o.Host], context.Background()
	var err error
	switch o.Kind {
	case core.CommandLaunch:
		m := hypervisor.Machine{
			ClusterUID: rigCluster, VMUID: o.UUID, Namespace: o.VM.Namespace, Name: o.VM.Name, InstanceID: o.Instance,
			MachineType: o.MachineType, Template: r.specs[o.VM.Name].Spec.Template,
		}
		if err = c.Define(ctx, m); err == nil {
			err = c.Create(ctx, o.UUID, o.Instance)
		}
	case core.CommandShutdown:
		err = c.Shutdown(ctx, o.UUID, o.Instance)
	case core.CommandDestroy:
		err = c.Destroy(ctx, o.UUID, o.Instance)
	case core.CommandUndefine:
		err = c.Undefine(ctx, o.UUID, o.Instance, o.State)
	}
	if errors.Is(err, hypervisor.ErrNotFound) && o.Kind != core.CommandLaunch {
		err = nil
	}
	done := core.CommandDone{ID: o.ID, Epoch: r.epochs[o.Host], Seq: r.next(), Looked: true, Domain: r.look(o.Host, o.UUID)}
	if err != nil {
		done.Outcome, done.Message = core.Refused, err.Error()
	}
	r.messages = append(r.messages, done)
	r.observe()
}

// act is one thing that users, guests or outsiders do.
type act struct{ verb, vm, host string }

func (a act) String() string { return strings.TrimSpace(a.verb + " " + cmp.Or(a.vm, a.host)) }

func (r *rig) act(a act) {
	vm := r.specs[a.vm]
	switch a.verb {
	case "always", "manual":
		if vm == nil {
			vm = &v1.VirtualMachine{Metadata: v1.ObjectMeta{Namespace: "default", Name: a.vm, UID: fmt.Sprintf("%s0000000-0000-4000-8000-%012d", a.vm, r.asked)}}
			r.asked++
		}
		strategy := map[string]v1.RunStrategy{"always": v1.RunAlways, "manual": v1.RunManual}[a.verb]
		if vm.Metadata.DeletionTimestamp == nil {
			r.edit(vm, func(o *v1.VirtualMachine) { o.Spec.RunStrategy, o.Spec.Template.Memory = strategy, 1<<30 })
		}
	case "delete":
		if vm != nil && vm.Metadata.DeletionTimestamp == nil {
			r.edit(vm, func(o *v1.VirtualMachine) { at := r.now; o.Metadata.DeletionTimestamp = &at })
		}
	case "start", "stop", "restart":
		if vm == nil {
			return
		}
		r.asked++
		o := &v1.Action{Metadata: v1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(r.asked), UID: fmt.Sprint(r.asked), CreationTimestamp: r.now},
			Spec: v1.ActionSpec{Type: v1.ActionType(a.verb), VM: a.vm, VMUID: vm.Metadata.UID}}
		r.commit(put(layout.ActionSpecKey("default", o.Metadata.Name), layout.EncodeActionSpec(o)))
		r.step(core.ActionPosted{Action: o})
	case "reconnect":
		r.connect(a.host)
	case "failing":
		r.fleet.Host(a.host).FailStarts("no")
	default:
		r.guestActs(a, vm)
	}
	r.observe()
}

func (r *rig) guestActs(a act, vm *v1.VirtualMachine) {
	for _, h := range r.fleet.Hosts() {
		switch {
		case vm == nil:
		case a.verb == "poweroff":
			h.GuestPowersOff(vm.Metadata.UID)
		case a.verb == "crash":
			h.GuestCrashes(vm.Metadata.UID)
		case a.verb == "outsider":
			h.OutsiderDestroys(vm.Metadata.UID)
		}
	}
}

func (r *rig) edit(old *v1.VirtualMachine, change func(*v1.VirtualMachine)) {
	o := *old
	change(&o)
	o.Metadata.Generation++
	r.specs[o.Metadata.Name] = &o
	r.commit(put(layout.VMSpecKey("default", o.Metadata.Name), layout.EncodeVMSpec(&o)))
	r.step(core.VMChanged{VM: &o})
}

// outcome is what came of every VM, without what times and chance decide: ids, moments, hosts.
func (r *rig) outcome() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.states)) {
		s := r.states[name]
		fmt.Fprintf(&b, "%s: %s held=%v run=%v", name, s.PrintableStatus, s.Hold != nil, s.Run != nil)
		if in := s.Instance; in != nil {
			fmt.Fprintf(&b, " instance=%s/%d stop=%v abandon=%v", in.Phase, in.Generation, in.Stop != nil, in.Abandon != nil)
		}
		if s.Waiting != nil {
			fmt.Fprintf(&b, " waits=%s", s.Waiting.Reason)
		}
		if s.CrashLoop != nil {
			fmt.Fprintf(&b, " failures=%d", s.CrashLoop.ConsecutiveFailures)
		}
		for _, e := range s.History {
			fmt.Fprintf(&b, " %s/%s", e.Phase, e.Reason)
		}
		fmt.Fprintf(&b, " instances=%d leftovers=%d\n", s.Instances, len(s.Leftovers))
	}
	for _, h := range r.fleet.Hosts() {
		for _, d := range h.Domains() {
			fmt.Fprintf(&b, "%s is %s\n", d.Name, d.State)
		}
	}
	return b.String()
}
