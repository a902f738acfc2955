package invariant

import (
	"fmt"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// logbook writes a log by hand. Each commit is one revision; everything takes no time unless wait says so.
type logbook struct {
	now     time.Time
	rev     int64
	entries []Entry
	vms     map[string]*v1.VirtualMachine
}

func newLogbook() *logbook {
	l := &logbook{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), vms: map[string]*v1.VirtualMachine{}}
	h := &v1.Host{Metadata: v1.ObjectMeta{Name: "h1", UID: "h1"}}
	l.commit(put(layout.HostSpecKey("h1"), layout.EncodeHostSpec(h)), hostStatus("h1"), hostStatus("h2"))
	return l
}

func hostStatus(name string) store.Change {
	return put(layout.HostStatusKey(name), layout.Encode(layout.StatusOf[v1.HostStatus]{UID: name, Status: v1.HostStatus{
		State: v1.HostUp, Capacity: v1.Resources{Memory: 4 << 30, CPUs: 4},
	}}))
}

func put(key string, value []byte) store.Change {
	return store.Change{KV: store.KV{Key: key, Value: value}}
}

func (l *logbook) add(f Fact)           { l.entries = append(l.entries, Entry{l.now, l.rev, f}) }
func (l *logbook) wait(d time.Duration) { l.now = l.now.Add(d) }

func (l *logbook) commit(changes ...store.Change) {
	l.rev++
	l.add(Commit{Changes: changes})
}

func (l *logbook) config(c v1.ClusterConfigSpec) {
	l.commit(put(layout.ConfigSpecKey(), layout.Encode(&v1.ClusterConfig{Spec: c})))
}

// vm creates a VM or edits its spec: the name is its uid.
func (l *logbook) vm(name string, edit func(*v1.VirtualMachine)) {
	o := l.vms[name]
	if o == nil {
		o = &v1.VirtualMachine{Metadata: v1.ObjectMeta{Namespace: "default", Name: name, UID: name}}
		o.Spec.Template.Memory = 1 << 30
	}
	o.Metadata.Generation++
	if edit != nil {
		edit(o)
	}
	l.vms[name] = o
	l.commit(put(layout.VMSpecKey("default", name), layout.EncodeVMSpec(o)))
}

func (l *logbook) strategy(name string, s v1.RunStrategy) {
	l.vm(name, func(o *v1.VirtualMachine) { o.Spec.RunStrategy = s })
}

func (l *logbook) remove(name string) {
	l.commit(store.Change{KV: store.KV{Key: layout.VMSpecKey("default", name)}, Deleted: true})
}

func (l *logbook) post(id string, t v1.ActionType, vm string, force bool) {
	a := &v1.Action{
		Metadata: v1.ObjectMeta{Namespace: "default", Name: id, UID: id},
		Spec:     v1.ActionSpec{Type: t, VM: vm, VMUID: vm, Force: force},
	}
	l.commit(put(layout.ActionSpecKey("default", id), layout.EncodeActionSpec(a)))
}

func actionStatus(id, phase string) store.Change {
	return put(layout.ActionStatusKey("default", id), layout.Encode(layout.StatusOf[v1.ActionStatus]{
		UID: id, Status: v1.ActionStatus{Phase: phase},
	}))
}

func (l *logbook) settle(id, phase string) { l.commit(actionStatus(id, phase)) }

// status writes a VM's status, with actions that it settles as applied.
func (l *logbook) status(vm string, s v1.VirtualMachineStatus, applied ...string) {
	s.ObservedGeneration = l.vms[vm].Metadata.Generation
	changes := []store.Change{put(layout.VMStatusKey("default", vm), layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: vm, Status: s}))}
	for _, id := range applied {
		changes = append(changes, actionStatus(id, v1.ActionApplied))
	}
	l.commit(changes...)
}

func (l *logbook) domain(host, vm, instance string, s hypervisor.DomainState, why string, by Cause, op string) {
	l.add(Domain{Host: host, UUID: vm, Instance: instance, State: s, Why: why, Memory: 1 << 30, VCPUs: 1, By: by, Op: op})
}

func (l *logbook) runs(host, vm, instance string) {
	l.domain(host, vm, instance, hypervisor.DomainRunning, "booted", ByCall, "create")
}

func (l *logbook) ends(host, vm, instance, why string, by Cause, op string) {
	l.domain(host, vm, instance, hypervisor.DomainInactive, why, by, op)
}

func (l *logbook) call(op, host, vm, instance string) {
	l.add(Call{Host: host, Op: op, UUID: vm, Instance: instance, Process: "p"})
}

// hostIsBack writes that a host has been connected just now.
func (l *logbook) hostIsBack(name string) {
	l.commit(put(layout.HostStatusKey(name), layout.Encode(layout.StatusOf[v1.HostStatus]{UID: name, Status: v1.HostStatus{
		State: v1.HostUp, ConnectedAt: l.now, Capacity: v1.Resources{Memory: 4 << 30, CPUs: 4},
	}})))
}

// instance is a status with one.
func instanceOn(host, id string, phase v1.Phase, change ...func(*v1.VirtualMachineStatus)) v1.VirtualMachineStatus {
	s := v1.VirtualMachineStatus{
		PrintableStatus: v1.PrintableStarting,
		Instance:        &v1.Instance{ID: id, Host: host, Phase: phase, Generation: 1, Memory: 1100 << 20, VCPUs: 1},
	}
	if phase == v1.PhaseRunning {
		s.PrintableStatus = v1.PrintableRunning
		s.Instance.RunningAt = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func stopping(reason string, force bool) func(*v1.VirtualMachineStatus) {
	return func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableStopping
		s.Instance.Stop = &v1.StopRequest{Reason: reason, Force: force, Deadline: time.Date(2026, 1, 1, 12, 2, 0, 0, time.UTC)}
	}
}

// launch is the whole way of an instance from a decision to running.
func (l *logbook) launch(host, vm, instance string, applied ...string) {
	l.status(vm, instanceOn(host, instance, v1.PhaseLaunching), applied...)
	l.call("define", host, vm, instance)
	l.domain(host, vm, instance, hypervisor.DomainInactive, "unknown", ByCall, "define")
	l.call("create", host, vm, instance)
	l.runs(host, vm, instance)
	l.status(vm, instanceOn(host, instance, v1.PhaseRunning))
}

// violations are the names of the checks that complain, with the VM.
func (l *logbook) violations() []string {
	var names []string
	for _, v := range Run(Merge(l.entries), All()...) {
		names = append(names, fmt.Sprintf("%s %s", v.Check, v.VM))
	}
	return names
}
