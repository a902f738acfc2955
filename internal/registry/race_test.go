package registry_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// together runs n functions at once and returns their errors.
func together(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func TestOneOfManyGetsTheDisk(t *testing.T) {
	f := newFixture(t)
	errs := together(16, func(i int) error {
		_, err := f.CreateVM(f.ctx, vm(fmt.Sprintf("vm%d", i), disk("one")))
		return err
	})
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if c := new(registry.ConflictError); !errors.As(err, &c) || c.Other == nil {
			t.Errorf("a loser is not told who won: %v", err)
		}
	}
	if vms, _, _ := f.ListVMs(f.ctx, ""); won != 1 || len(vms) != 1 {
		t.Errorf("%d creations succeeded, %d VMs exist; want 1", won, len(vms))
	}
}

// Edits that carry no resourceVersion all succeed, one after another: no generation is lost, and each old one is kept.
func TestManyEditsAtOnce(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	const n = 16
	for _, err := range together(n, func(i int) error {
		_, err := f.UpdateVM(f.ctx, vm("a", func(v *v1.VirtualMachine) { v.Spec.Template.Memory = v1.Quantity(2+i) << 30 }))
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if g := must(f.GetVM(f.ctx, "", "a")).Metadata.Generation; g != n+1 {
		t.Errorf("generation %d after %d edits", g, n)
	}
	revisions := f.keys(layout.Revision)
	for g := range int64(n) {
		kv, ok := revisions[layout.RevisionKey(a.Metadata.UID, g+1)]
		if !ok || must(layout.DecodeVM(kv, nil)).Metadata.Generation != g+1 {
			t.Errorf("generation %d is not kept", g+1)
		}
	}
}

// Of edits that carry the same resourceVersion one succeeds.
func TestOneOfManyEditsOfAVersion(t *testing.T) {
	f := newFixture(t)
	seen := must(f.CreateVM(f.ctx, vm("a"))).Metadata.ResourceVersion
	won := 0
	for _, err := range together(16, func(i int) error {
		_, err := f.UpdateVM(f.ctx, vm("a", func(v *v1.VirtualMachine) {
			v.Metadata.ResourceVersion = seen
			v.Spec.Template.Memory = v1.Quantity(2+i) << 30
		}))
		return err
	}) {
		if err == nil {
			won++
		} else if !errors.As(err, new(*registry.ConflictError)) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d edits of one version succeeded", won)
	}
}

func TestSameActionFromManyClients(t *testing.T) {
	f := newFixture(t)
	must(f.CreateVM(f.ctx, vm("a")))
	uids := make([]string, 16)
	for i, err := range together(len(uids), func(i int) error {
		a, err := f.PostAction(f.ctx, "", "a", registry.ActionRequest{ID: "once", Type: v1.ActionStart})
		if err == nil {
			uids[i] = a.Metadata.UID
		}
		return err
	}) {
		if err != nil || uids[i] != uids[0] {
			t.Errorf("client %d: action %q, %v; want %q", i, uids[i], err, uids[0])
		}
	}
}

// A VM that is replaced while an action for it is being posted does not get its predecessor's action.
func TestActionReachesNoSuccessor(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	var successor *v1.VirtualMachine
	racing := registry.New(&beforeTxn{Store: f.st, do: func() {
		f.remove(a)
		successor = must(f.CreateVM(f.ctx, vm("a")))
	}}, f.clock)
	got := must(racing.PostAction(f.ctx, "", "a", registry.ActionRequest{Type: v1.ActionStop}))
	if got.Spec.VMUID != successor.Metadata.UID {
		t.Errorf("the action is for %s, which is gone", got.Spec.VMUID)
	}
}

// A claim that somebody takes, or that the engine releases, between look and write is looked at again.
func TestClaimChangesMeanwhile(t *testing.T) {
	f := newFixture(t)
	racing := registry.New(&beforeTxn{Store: f.st, do: func() { must(f.CreateVM(f.ctx, vm("first", disk("x")))) }}, f.clock)
	_, err := racing.CreateVM(f.ctx, vm("second", disk("x")))
	if c := new(registry.ConflictError); !errors.As(err, &c) || c.Other.Name != "first" {
		t.Errorf("error: %v", err)
	}

	a := must(f.CreateVM(f.ctx, vm("a", disk("y"))))
	must(f.UpdateVM(f.ctx, vm("a", disk("z"))))
	key := layout.Claims(a)[0].Key
	racing = registry.New(&beforeTxn{Store: f.st, do: func() { f.txn(store.Txn{Delete: []string{key}}) }}, f.clock)
	must(racing.UpdateVM(f.ctx, vm("a", disk("y"))))
	if _, ok := f.keys(layout.Index)[key]; !ok {
		t.Error("the VM writes to a disk that it does not own")
	}
}

// A crowd on one object is told to come back; it does not spin for ever.
func TestGivesUp(t *testing.T) {
	f := newFixture(t)
	_, err := registry.New(alwaysConflict{f.st}, f.clock).CreateVM(f.ctx, vm("a"))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("error: %v", err)
	}
}
