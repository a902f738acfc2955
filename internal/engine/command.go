package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// order is a command on its way to its host.
type order struct {
	core.Command
	clusterUID string
	// vm has the spec to build from (launch); nil when it is an older generation's and must be read.
	vm *v1.VirtualMachine
}

// order completes a command with what is known at the moment of the decision.
func (b *book) order(c core.Command) order {
	o := order{Command: c, clusterUID: b.clusterUID}
	if e := b.vms[c.VM]; c.Kind == core.CommandLaunch && e != nil && e.uid == c.UUID && e.generation == c.Generation {
		o.vm = e.vm
	}
	return o
}

// enqueue has a command carried out as soon as a worker is free. It never waits. Two at once for one domain would be a defect of the
// core that could start a VM twice: that ends the term.
func (h *host) enqueue(o order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if first, busy := h.busy[o.UUID]; busy {
		h.hs.t.end(fmt.Errorf("defect: command %d for domain %s on host %s, while command %d has not come back", o.ID, o.UUID, h.name, first))
		return
	}
	h.busy[o.UUID] = o.ID
	h.orders = append(h.orders, o)
	if h.workers < h.o.CommandsPerHost {
		h.workers++
		h.hs.t.group.Go(h.work)
	}
}

// work carries out commands until none waits.
func (h *host) work() {
	for {
		h.mu.Lock()
		if len(h.orders) == 0 || h.hs.ctx.Err() != nil {
			h.workers--
			h.mu.Unlock()
			return
		}
		o := h.orders[0]
		h.orders[0] = order{}
		h.orders = h.orders[1:]
		l, epoch := h.link, h.epoch
		if l != nil && l.epoch != o.Epoch {
			l = nil
		}
		h.mu.Unlock()

		done := core.CommandDone{ID: o.ID, Epoch: epoch, Outcome: core.Unsent, Message: "the host is not connected"}
		if l != nil {
			done = l.carryOut(o)
		}
		if done.Outcome != core.Done && h.ctx.Err() == nil {
			h.log.Warn("command failed", "command", o.Kind.String(), "vm", o.VM.String(), "instance", o.Instance,
				"outcome", done.Outcome.String(), "message", done.Message)
		}
		h.mu.Lock()
		delete(h.busy, o.UUID)
		h.mu.Unlock()
		h.hs.post(done)
	}
}

// carryOut does what the command says, and looks at the domain afterwards.
func (l *link) carryOut(o order) core.CommandDone {
	done := core.CommandDone{ID: o.ID, Epoch: l.epoch}
	sent := false
	call := func(f func(ctx context.Context) error) error {
		if !l.h.hs.t.lease.Valid() {
			return errShort
		}
		if l.h.ctx.Err() != nil {
			return context.Cause(l.h.ctx)
		}
		sent = true
		ctx, cancel := context.WithTimeout(l.h.ctx, l.h.o.CallDeadline)
		defer cancel()
		err := f(ctx)
		if err == nil || hypervisor.Answered(err) {
			l.note(nil)
		}
		return err
	}
	var err error
	switch o.Kind {
	case core.CommandLaunch:
		err = l.launch(o, call)
	case core.CommandShutdown:
		err = absentIsDone(call(func(ctx context.Context) error { return l.conn.Shutdown(ctx, o.UUID, o.Instance) }))
	case core.CommandDestroy:
		err = absentIsDone(call(func(ctx context.Context) error { return l.conn.Destroy(ctx, o.UUID, o.Instance) }))
	case core.CommandUndefine:
		err = absentIsDone(call(func(ctx context.Context) error { return l.conn.Undefine(ctx, o.UUID, o.Instance, o.State) }))
	case core.CommandLook:
		sent = true
	}
	switch {
	case err == nil:
		done.Outcome = core.Done
	case !sent:
		done.Outcome = core.Unsent
		if errors.Is(err, errSpec) {
			done.Outcome = core.Refused
		}
	case hypervisor.Answered(err):
		done.Outcome = core.Refused
	default:
		done.Outcome = core.Unclear
	}
	if err != nil {
		done.Message = err.Error()
	}
	done.Seq = l.h.hs.seq.Add(1)
	if !sent {
		return done
	}
	d, lookErr := l.look(o.UUID)
	done.Looked, done.Domain = lookErr == nil, d
	if lookErr != nil && o.Kind == core.CommandLook {
		done.Outcome, done.Message = core.Unclear, lookErr.Error()
		if hypervisor.Answered(lookErr) {
			done.Outcome = core.Refused
		}
	}
	if done.Outcome == core.Unclear {
		select {
		case l.relist <- struct{}{}:
		default:
		}
	}
	return done
}

var (
	// errShort: the lease is too short for a call to a host.
	errShort = errors.New("this process may not lead any more")
	// errSpec: there is no spec to build the instance from.
	errSpec = errors.New("no spec to build the instance from")
)

// absentIsDone: what is to end or go is not there.
func absentIsDone(err error) error {
	if errors.Is(err, hypervisor.ErrNotFound) {
		return nil
	}
	return err
}

// launch defines the instance and then creates it.
func (l *link) launch(o order, call func(func(context.Context) error) error) error {
	m, err := l.h.machine(o)
	if err != nil {
		return err
	}
	if err := call(func(ctx context.Context) error { return l.conn.Define(ctx, m) }); err != nil {
		return err
	}
	return call(func(ctx context.Context) error { return l.conn.Create(ctx, o.UUID, o.Instance) })
}

// machine is what the host needs to know to define the instance, from the spec of exactly the generation that was decided on.
func (h *host) machine(o order) (hypervisor.Machine, error) {
	vm := o.vm
	if vm == nil {
		var err error
		if vm, err = h.olderSpec(o); err != nil {
			return hypervisor.Machine{}, err
		}
	}
	return hypervisor.Machine{
		ClusterUID: o.clusterUID, VMUID: o.UUID, Namespace: o.VM.Namespace, Name: o.VM.Name, InstanceID: o.Instance,
		MachineType: o.MachineType, CPUModel: o.CPUModel, Template: vm.Spec.Template,
	}, nil
}

// olderSpec reads the kept spec of the order's generation.
func (h *host) olderSpec(o order) (*v1.VirtualMachine, error) {
	ctx, cancel := context.WithTimeout(h.hs.ctx, h.o.QueryDeadline)
	defer cancel()
	kv, err := h.o.Store.Get(ctx, layout.RevisionKey(o.UUID, o.Generation))
	if err != nil {
		return nil, fmt.Errorf("read generation %d of VM %s: %w", o.Generation, o.VM, err)
	}
	if kv.ModRevision == 0 {
		return nil, fmt.Errorf("%w: generation %d of VM %s is not kept", errSpec, o.Generation, o.VM)
	}
	vm := &v1.VirtualMachine{}
	if err := json.Unmarshal(kv.Value, vm); err != nil {
		return nil, fmt.Errorf("%w: generation %d of VM %s: %w", errSpec, o.Generation, o.VM, err)
	}
	v1.SetDefaults(vm)
	return vm, nil
}
