package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/invariant"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// Outcome is what came of a story.
type Outcome struct {
	Kills      int
	Violations []invariant.Violation
	// Unhappy says which VM did not end as its owner wants, and how.
	Unhappy []string
	Log     []invariant.Entry
}

// Failed reports whether a promise was broken.
func (o Outcome) Failed() bool { return len(o.Violations)+len(o.Unhappy) > 0 }

// String is all that is wrong.
func (o Outcome) String() string {
	var b strings.Builder
	for _, u := range o.Unhappy {
		fmt.Fprintln(&b, "at the end,", u)
	}
	for _, v := range o.Violations {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

// calm is how long everything is left alone at the end: longer than any deadline that can be running.
const calm = 15 * time.Minute

// Run plays a story to its end. Call it inside a synctest bubble of its own.
func (s Story) Run() (Outcome, error) {
	w, err := NewWorld(s.Setting)
	if err != nil {
		return Outcome{}, err
	}
	for range max(1, s.Setting.Planes) {
		w.Boot()
	}
	users := newUsers(w)
	began := time.Now()
	for _, step := range s.Steps {
		w.Wait(step.At - time.Since(began))
		if err := w.do(users, step); err != nil {
			return Outcome{}, fmt.Errorf("step %s: %w", step, err)
		}
	}
	w.Wait(time.Minute)
	w.Heal()
	w.Wait(calm)
	o := Outcome{Kills: w.Kills(), Unhappy: w.Unhappy(), Log: w.Close(true)}
	o.Violations = invariant.Run(o.Log, invariant.All()...)
	return o, nil
}

// users call the API through a store view of their own, whose answers get lost now and then; they ask again, with the same id.
type users struct {
	registry *registry.Registry
	asked    int
}

func newUsers(w *World) *users {
	n := 0
	view := w.Store.View(memory.Faults{Txn: func(store.Txn) memory.Fault {
		switch n++; n % 7 {
		case 3:
			return memory.Fault{Err: errLostAnswer}
		case 5:
			return memory.Fault{Err: errLostAnswer, Drop: true}
		}
		return memory.Fault{}
	}})
	return &users{registry: registry.New(view, time.Now)}
}

var errLostAnswer = errors.New("the answer of the store was lost")

// insist repeats a request until it is answered. What the registry refuses is refused.
func insist(ask func() error) error {
	for range 10 {
		if err := ask(); !errors.Is(err, errLostAnswer) {
			return err
		}
	}
	return errLostAnswer
}

// do lets a step happen. What is impossible at the moment, or refused, does not happen; an error means that the story is broken.
func (w *World) do(u *users, s Step) error {
	ctx := w.ctx
	switch s.Verb {
	case Apply:
		vm := &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: s.VM}}
		vm.Spec.RunStrategy, vm.Spec.Template.Memory = s.Strategy, s.Memory
		return refused(insist(func() error {
			_, err := u.registry.Apply(ctx, []v1.Document{{Object: vm}}, registry.ApplyOptions{})
			return err
		}))
	case Start, Stop, Restart:
		return w.action(u, s)
	case Delete:
		return refused(insist(func() error {
			_, err := u.registry.DeleteVM(ctx, "", s.VM, registry.DeleteOptions{Force: s.Force})
			return err
		}))
	case GuestPowersOff, GuestCrashes, Destroyed, Saved, Started, Paused:
		w.guestStep(s)
	case Cordon:
		return w.cordon(u, s)
	case Kill:
		w.Arm(trap{at: s.Moment, n: s.N, pause: s.For, late: s.Late})
	case Isolate:
		if p := w.Leader(); p != nil {
			p.Isolate(s.For)
		}
	default:
		w.hostStep(s)
		if s.Word > 0 {
			time.AfterFunc(s.Word, func() { w.vouch(u, s.Host) })
		}
	}
	return nil
}

func (w *World) action(u *users, s Step) error {
	u.asked++
	req := registry.ActionRequest{
		ID: fmt.Sprintf("%s-%d", s.VM, u.asked), Type: v1.ActionType(s.Verb), Force: s.Force, By: "somebody",
	}
	var a *v1.Action
	err := insist(func() (err error) {
		a, err = u.registry.PostAction(w.ctx, "", s.VM, req)
		return err
	})
	if err == nil {
		w.rec.add(invariant.Acknowledged{Namespace: a.Metadata.Namespace, Name: a.Metadata.Name})
	}
	return refused(err)
}

func (w *World) cordon(u *users, s Step) error {
	set := func(cordoned bool) error {
		return insist(func() error {
			_, err := u.registry.SetUnschedulable(w.ctx, s.Host, cordoned)
			return err
		})
	}
	time.AfterFunc(s.For, func() { _ = set(false) }) // the world may be over by then
	return set(true)
}

// refused is nil when the registry said no: users live with that.
func refused(err error) error {
	if errors.Is(err, errLostAnswer) || errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// guestStep happens on the host that really runs the VM.
func (w *World) guestStep(s Step) {
	for _, h := range w.Fleet.Hosts() {
		for _, d := range h.Domains() {
			if !strings.HasPrefix(d.Name, "default."+s.VM+".") || (d.State == hypervisor.DomainRunning) == (s.Verb == Started) {
				continue
			}
			switch s.Verb {
			case Started:
				h.OutsiderStarts(d.UUID)
			case Saved:
				h.OutsiderSaves(d.UUID)
			case GuestPowersOff:
				h.GuestPowersOff(d.UUID)
			case GuestCrashes:
				h.GuestCrashes(d.UUID)
			case Destroyed:
				h.OutsiderDestroys(d.UUID)
			case Paused:
				h.OutsiderPauses(d.UUID, hypervisor.WhyIOError)
				time.AfterFunc(s.For, func() { h.OutsiderResumes(d.UUID) })
			}
		}
	}
}
