package registry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

func TestPostAction(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	b := must(f.CreateVM(f.ctx, vm("b")))
	stop := registry.ActionRequest{ID: "r1", Type: v1.ActionStop, By: "ann"}
	got := must(f.PostAction(f.ctx, "", "a", stop))
	if got.Metadata.Name != "r1" || got.Spec.VMUID != a.Metadata.UID || got.Spec.By != "ann" || !got.Spec.ExpiresAt.Equal(epoch.Add(registry.DefaultActionTTL)) {
		t.Errorf("action: %+v", got)
	}
	f.now = f.now.Add(time.Minute)
	again := must(f.PostAction(f.ctx, "default", "a", stop))
	if again.Metadata.UID != got.Metadata.UID || again.Metadata.ResourceVersion != got.Metadata.ResourceVersion {
		t.Error("the same request made another action")
	}
	for what, other := range map[string]registry.ActionRequest{
		"type":  {ID: "r1", Type: v1.ActionRestart, By: "ann"},
		"force": {ID: "r1", Type: v1.ActionStop, By: "ann", Force: true},
		"by":    {ID: "r1", Type: v1.ActionStop, By: "bob"},
	} {
		if _, err := f.PostAction(f.ctx, "", "a", other); !errors.As(err, new(*registry.ConflictError)) {
			t.Errorf("the same id with another %s: %v", what, err)
		}
	}
	_, err := f.PostAction(f.ctx, "", b.Metadata.Name, stop)
	wantError(t, err, "Action default/r1: metadata.name: the request id was used already, to stop VM a: "+
		"use a new id for each new request; reuse one only to repeat the very same request")

	// A request is repeated even when its VM is gone: its client must learn what became of it.
	f.remove(a)
	if must(f.PostAction(f.ctx, "", "a", stop)).Metadata.UID != got.Metadata.UID {
		t.Error("the same request made another action")
	}
	_, err = f.PostAction(f.ctx, "", "a", registry.ActionRequest{Type: v1.ActionStop})
	wantError(t, err, "VirtualMachine default/a does not exist")

	one, two := must(f.PostAction(f.ctx, "", "b", registry.ActionRequest{Type: v1.ActionStart})), must(f.PostAction(f.ctx, "", "b", registry.ActionRequest{Type: v1.ActionStart}))
	if one.Metadata.Name == two.Metadata.Name {
		t.Error("two requests without an id are one action")
	}
	if all, _, err := f.ListActions(f.ctx, ""); len(all) != 3 || err != nil {
		t.Errorf("%d actions, %v", len(all), err)
	}
	if read := must(f.GetAction(f.ctx, "", "r1")); read.Spec != got.Spec {
		t.Errorf("read back: %+v", read)
	}
}

func TestPostActionInvalid(t *testing.T) {
	f := newFixture(t)
	must(f.CreateVM(f.ctx, vm("a")))
	for _, c := range []struct {
		req  registry.ActionRequest
		want string
	}{
		{registry.ActionRequest{ID: "a/b", Type: v1.ActionStop},
			`Action a/b: metadata.name: "a/b" is not a request id: use letters, digits, '-', '_' and '.', at most 63, e.g. a UUID`},
		{registry.ActionRequest{ID: strings.Repeat("x", 64), Type: v1.ActionStop}, "Action " + strings.Repeat("x", 64) + ": metadata.name: \"" +
			strings.Repeat("x", 64) + `" is not a request id: use letters, digits, '-', '_' and '.', at most 63, e.g. a UUID`},
		{registry.ActionRequest{ID: "x", Type: "reboot"}, `Action x: spec.type: "reboot" is not an action: use start, stop or restart`},
		{registry.ActionRequest{ID: "x", Type: v1.ActionStart, Force: true},
			"Action x: spec.force: a start cannot be forced: leave force out; to start anew what runs, use restart"},
		{registry.ActionRequest{ID: "x", Type: v1.ActionStop, TTL: -1},
			"Action x: spec.expiresAt: a time to live of -1ns is not possible: choose more than zero and at most 24h"},
		{registry.ActionRequest{ID: "x", Type: v1.ActionStop, TTL: 25 * time.Hour},
			"Action x: spec.expiresAt: a time to live of 25h0m0s is not possible: choose more than zero and at most 24h"},
	} {
		_, err := f.PostAction(f.ctx, "", "a", c.req)
		wantError(t, err, c.want)
	}
}
