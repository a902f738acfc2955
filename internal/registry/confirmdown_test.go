package registry_test

import (
	"errors"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// hostIs writes a host's status as the engine does.
func (f *fixture) hostIs(h *v1.Host, s v1.HostStatus) {
	f.t.Helper()
	f.txn(store.Txn{Put: []store.KV{{Key: layout.HostStatusKey(h.Metadata.Name),
		Value: layout.Encode(layout.StatusOf[v1.HostStatus]{UID: h.Metadata.UID, Status: s})}}})
}

func TestConfirmHostDown(t *testing.T) {
	f := newFixture(t)
	h := must(f.CreateHost(f.ctx, host("h1")))
	for _, c := range []struct {
		state v1.HostState
		want  string
	}{
		{v1.HostConnecting, "Host h1: it is not known to be unreachable: the control plane is still trying to connect to it: " +
			"wait until it is Up or Unreachable, and look again"},
		{v1.HostUp, "Host h1: it is Up, so its libvirt answers, or did so a moment ago: " +
			"if it has just gone down, wait until it is Unreachable (15 seconds); to keep new instances away from it, cordon it"},
	} {
		f.hostIs(h, v1.HostStatus{State: c.state})
		_, err := f.ConfirmHostDown(f.ctx, "h1", "ann")
		wantError(t, err, c.want)
		if !errors.As(err, new(*registry.ConflictError)) {
			t.Errorf("%T is no ConflictError", err)
		}
	}
	f.hostIs(h, v1.HostStatus{State: v1.HostUnreachable})
	word := must(f.ConfirmHostDown(f.ctx, "h1", "ann"))
	if got := word.Spec.ConfirmedDown; got == nil || got.By != "ann" || !got.At.Equal(f.now) || word.Metadata.Generation != 2 {
		t.Errorf("the word is %+v, generation %d", got, word.Metadata.Generation)
	}
	f.now = f.now.Add(time.Minute)
	if again := must(f.ConfirmHostDown(f.ctx, "h1", "bob")); again.Spec.ConfirmedDown.By != "bob" || !again.Spec.ConfirmedDown.At.Equal(f.now) {
		t.Errorf("a second word is not a new one: %+v", again.Spec.ConfirmedDown)
	}
	_, err := f.ConfirmHostDown(f.ctx, "h2", "ann")
	wantError(t, err, "Host h2 does not exist")
}

// A host that answers at the very moment that somebody says it is down: the word must not stay, and count when the host is lost next.
func TestConfirmHostDownOvertaken(t *testing.T) {
	f := newFixture(t)
	h := must(f.CreateHost(f.ctx, host("h1")))
	f.hostIs(h, v1.HostStatus{State: v1.HostUnreachable})
	f.Registry = registry.New(&beforeTxn{Store: f.st, do: func() { f.hostIs(h, v1.HostStatus{State: v1.HostUp}) }}, f.clock)
	if _, err := f.ConfirmHostDown(f.ctx, "h1", "ann"); !errors.As(err, new(*registry.ConflictError)) {
		t.Errorf("the word was taken: %v", err)
	}
	if word := must(f.GetHost(f.ctx, "h1")).Spec.ConfirmedDown; word != nil {
		t.Errorf("the word stayed: %+v", word)
	}
}

// A manifest neither gives nor takes a person's word.
func TestApplyKeepsTheWord(t *testing.T) {
	f := newFixture(t)
	said := host("h1")
	said.Spec.ConfirmedDown = &v1.ConfirmedDown{By: "ann", At: f.now}
	refused := "Host h1: spec.confirmedDown: a manifest cannot vouch for a host being down, since its VMs start elsewhere at once: " +
		`leave it out; if the host is down, use "holdfast host confirm-down h1"`
	_, err := f.CreateHost(f.ctx, said)
	wantError(t, err, refused)
	h := must(f.CreateHost(f.ctx, host("h1")))
	_, err = f.UpdateHost(f.ctx, said)
	wantError(t, err, refused)

	f.hostIs(h, v1.HostStatus{State: v1.HostUnreachable})
	word := must(f.ConfirmHostDown(f.ctx, "h1", "ann"))
	for name, o := range map[string]*v1.Host{"without it": host("h1"), "as it was read": word} {
		o.Spec.StartLimit++
		o.Metadata.ResourceVersion = ""
		if got := must(f.UpdateHost(f.ctx, o)).Spec.ConfirmedDown; got == nil || got.By != "ann" {
			t.Errorf("applied %s, and the word is %+v", name, got)
		}
	}
	said.Spec.ConfirmedDown.At = f.now.Add(time.Hour)
	_, err = f.UpdateHost(f.ctx, said)
	wantError(t, err, refused)
}

// A host that is gone for good can be forgotten, with what it had of VMs that run elsewhere now.
func TestDeleteFencedHost(t *testing.T) {
	f := newFixture(t)
	h := must(f.CreateHost(f.ctx, host("h1")))
	a := must(f.CreateVM(f.ctx, vm("a")))
	f.setStatus(a, v1.VirtualMachineStatus{Leftovers: []string{"h1"}})
	lost := v1.HostStatus{State: v1.HostUnreachable, LostAt: f.now.Add(-time.Minute)}
	f.hostIs(h, lost)
	refused := "Host h1: these VMs are on the host or left something there: default/a: the host is Unreachable: bring it back, " +
		"or, if it is gone for good, say so (holdfast host confirm-down h1) and remove it then"
	wantError(t, f.DeleteHost(f.ctx, "h1"), refused)
	must(f.ConfirmHostDown(f.ctx, "h1", "ann"))
	wantError(t, f.DeleteHost(f.ctx, "h1"), refused) // the control plane has not acted on it yet
	fenced := lost
	fenced.FencedAt = f.now
	f.hostIs(h, fenced)
	f.setStatus(a, v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h1"}})
	wantError(t, f.DeleteHost(f.ctx, "h1"), refused)
	f.setStatus(a, v1.VirtualMachineStatus{Leftovers: []string{"h1"}})
	again := fenced
	again.LostAt = f.now.Add(time.Hour) // it came back since, and is lost anew
	f.hostIs(h, again)
	wantError(t, f.DeleteHost(f.ctx, "h1"), refused)
	f.hostIs(h, fenced)
	if err := f.DeleteHost(f.ctx, "h1"); err != nil {
		t.Error(err)
	}
}
