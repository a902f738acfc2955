package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// watch starts a watch that ends with the test.
func (f *fixture) watch(kind, namespace, from string) <-chan registry.WatchEvent {
	f.t.Helper()
	return f.watchScope(kind, registry.Scope{Namespace: namespace}, from)
}

func (f *fixture) watchScope(kind string, scope registry.Scope, from string) <-chan registry.WatchEvent {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	events, err := f.Watch(ctx, kind, scope, from)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		cancel()
		for range events { // until it is closed
		}
	})
	return events
}

// show writes an event as "ADDED a gen 1 Running".
func show(e registry.WatchEvent) string {
	if e.Object == nil {
		return e.Type
	}
	m := e.Object.GetMetadata()
	s := fmt.Sprintf("%s %s gen %d", e.Type, m.Name, m.Generation)
	if v, ok := e.Object.(*v1.VirtualMachine); ok && v.Status.PrintableStatus != "" {
		s += " " + v.Status.PrintableStatus
	}
	return s
}

func wantEvents(t *testing.T, events <-chan registry.WatchEvent, want ...string) (last registry.WatchEvent) {
	t.Helper()
	for _, w := range want {
		e, ok := <-events
		if !ok || show(e) != w {
			t.Fatalf("event %q %v, want %q", show(e), e.Err, w)
		}
		last = e
	}
	return last
}

func TestWatch(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Running"})
	must(f.CreateVM(f.ctx, vm("z", func(v *v1.VirtualMachine) { v.Metadata.Namespace = "lab" })))
	events := f.watch(v1.KindVirtualMachine, "default", "")
	start := wantEvents(t, events, "ADDED a gen 1 Running", "BOOKMARK")

	b := must(f.CreateVM(f.ctx, vm("b")))
	must(f.CreateVM(f.ctx, vm("y", func(v *v1.VirtualMachine) { v.Metadata.Namespace = "lab" })))
	must(f.CreateHost(f.ctx, host("h")))
	f.setStatus(b, v1.VirtualMachineStatus{PrintableStatus: "Starting"})
	must(f.UpdateVM(f.ctx, vm("a", disk("other"))))
	f.remove(a)
	wantEvents(t, events, "ADDED b gen 1", "MODIFIED b gen 1 Starting", "MODIFIED a gen 2 Running", "DELETED a gen 2 Running")

	// Resuming from the bookmark reports the same, from the point of view of today.
	resumed := f.watch(v1.KindVirtualMachine, "default", start.ResourceVersion)
	e := wantEvents(t, resumed, "ADDED b gen 1 Starting", "MODIFIED b gen 1 Starting", "DELETED a gen 2")
	// And resuming from the middle reports the rest.
	a = must(f.CreateVM(f.ctx, vm("a", disk("new"))))
	wantEvents(t, f.watch(v1.KindVirtualMachine, "default", e.ResourceVersion), "ADDED a gen 1")
	wantEvents(t, resumed, "ADDED a gen 1")
	if e := wantEvents(t, events, "ADDED a gen 1"); e.Object.GetMetadata().UID != a.Metadata.UID {
		t.Error("the successor has its predecessor's uid")
	}
}

// An object that was deleted and made again, and one that came and went, while nobody watched.
func TestWatchResumeOverDeletions(t *testing.T) {
	f := newFixture(t)
	old := must(f.CreateVM(f.ctx, vm("a")))
	quiet := must(f.CreateVM(f.ctx, vm("quiet")))
	_, from, _ := f.ListVMs(f.ctx, "")
	f.remove(old)
	brief := must(f.CreateVM(f.ctx, vm("brief")))
	f.remove(brief)
	f.remove(quiet)
	again := must(f.CreateVM(f.ctx, vm("a")))
	f.setStatus(again, v1.VirtualMachineStatus{PrintableStatus: "Running"})
	wantEvents(t, f.watch(v1.KindVirtualMachine, "", from), "DELETED a gen 0", "DELETED quiet gen 0", "ADDED a gen 1 Running", "MODIFIED a gen 1 Running")
}

func TestWatchOtherKinds(t *testing.T) {
	f := newFixture(t)
	must(f.CreateHost(f.ctx, host("h1")))
	must(f.EnsureCluster(f.ctx))
	must(f.CreateVM(f.ctx, vm("a")))
	wantEvents(t, f.watch(v1.KindHost, "", ""), "ADDED h1 gen 1", "BOOKMARK")
	wantEvents(t, f.watch(v1.KindClusterConfig, "", ""), "ADDED cluster gen 1", "BOOKMARK")
	actions, events := f.watch(v1.KindAction, "", ""), f.watch(v1.KindEvent, "", "")
	wantEvents(t, actions, "BOOKMARK")
	wantEvents(t, events, "BOOKMARK")
	must(f.PostAction(f.ctx, "", "a", registry.ActionRequest{ID: "r", Type: v1.ActionStop}))
	wantEvents(t, actions, "ADDED r gen 1")
	f.txn(store.Txn{Put: []store.KV{{Key: layout.ActionStatusKey("default", "r"), Value: []byte(`{}`)}}})
	wantEvents(t, actions, "MODIFIED r gen 1")
	ref := v1.ObjectRef{Kind: v1.KindHost, Name: "h1"}
	f.txn(store.Txn{Put: []store.KV{{Key: layout.EventKey(ref, "Up"), Value: layout.Encode(v1.Event{Metadata: v1.ObjectMeta{Name: "h1.Up"}})}}})
	wantEvents(t, events, "ADDED h1.Up gen 0")
}

func TestWatchRefusals(t *testing.T) {
	f := newFixture(t)
	must(f.CreateVM(f.ctx, vm("a")))
	_, err := f.Watch(f.ctx, "Pod", registry.Scope{}, "")
	wantError(t, err, `Pod: kind: "Pod" cannot be watched: watch VirtualMachine, Host, ClusterConfig, Action or Event`)
	_, err = f.Watch(f.ctx, v1.KindHost, registry.Scope{}, "now")
	wantError(t, err, `Host: resourceVersion: "now" is not a resourceVersion: take it from a list or from the last event of a watch, `+
		"or leave it out to begin with the current objects")
	// A store that was restored from a backup does not know the future that a client has seen.
	if _, err = f.Watch(f.ctx, v1.KindHost, registry.Scope{}, "1000"); !errors.Is(err, registry.ErrExpired) {
		t.Errorf("from the future: %v", err)
	}
	_, from, _ := f.ListVMs(f.ctx, "")
	revision := f.setStatus(must(f.GetVM(f.ctx, "", "a")), v1.VirtualMachineStatus{PrintableStatus: "Running"})
	if err := f.st.Compact(f.ctx, revision); err != nil {
		t.Fatal(err)
	}
	e, ok := <-f.watch(v1.KindVirtualMachine, "", from)
	if !ok || !errors.Is(e.Err, registry.ErrExpired) {
		t.Errorf("from a compacted revision: %+v", e)
	}
}

// A watch that begins while things happen misses nothing, and a removal, which is one transaction, is one event to it.
func TestWatchBeginsWhileThingsHappen(t *testing.T) {
	for _, tc := range []struct {
		resume bool
		first  []string
	}{
		{false, []string{"ADDED a gen 1", "ADDED b gen 2 Running", "BOOKMARK"}},
		{true, []string{"MODIFIED b gen 2 Running"}},
	} {
		f := newFixture(t)
		a, b := must(f.CreateVM(f.ctx, vm("a"))), must(f.CreateVM(f.ctx, vm("b")))
		f.setStatus(b, v1.VirtualMachineStatus{PrintableStatus: "Running"})
		_, from, _ := f.ListVMs(f.ctx, "")
		must(f.DeleteVM(f.ctx, "", "b", registry.DeleteOptions{}))
		if !tc.resume {
			from = ""
		}
		f.Registry = registry.New(&afterList{Store: f.st, do: func() {
			f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Starting"})
			f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Running"})
			f.remove(b)
		}}, f.clock)
		events := f.watch(v1.KindVirtualMachine, "", from)
		wantEvents(t, events, append(tc.first, "MODIFIED a gen 1 Starting", "MODIFIED a gen 1 Running", "DELETED b gen 2 Running")...)
	}
}

// replica is what a client knows that lists, and then follows a watch.
type replica map[string]string

func (r replica) follow(t *rapid.T, e registry.WatchEvent) {
	if e.Object == nil {
		return
	}
	m := e.Object.GetMetadata()
	_, known := r[m.Name]
	switch {
	case e.Type == registry.Deleted && known:
		delete(r, m.Name)
	case e.Type == registry.Added && !known, e.Type == registry.Modified && known:
		r[m.Name] = digest(e.Object.(*v1.VirtualMachine))
	default:
		t.Fatalf("%s for a VM that the client knows: %v", show(e), known)
	}
}

func digest(v *v1.VirtualMachine) string {
	return fmt.Sprintf("%s %d %s", v.Metadata.UID, v.Metadata.Generation, v.Status.PrintableStatus)
}

// Whatever happens, and wherever a client resumes: following the watch to the end gives what a list gives, and no event comes
// that does not fit what the client knows.
func TestWatchHasNoGaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		replicas := map[string]replica{} // by the resourceVersion they were listed at
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			name := names.Draw(rt, "vm")
			v, err := f.GetVM(f.ctx, "", name)
			switch op := rapid.IntRange(0, 4).Draw(rt, "what happens"); {
			case op == 0:
				vms, from, _ := f.ListVMs(f.ctx, "")
				replicas[from] = replica{}
				for _, v := range vms {
					replicas[from][v.Metadata.Name] = digest(v)
				}
			case err != nil:
				must(f.CreateVM(f.ctx, vm(name)))
			case op == 1:
				f.remove(v)
			case op == 2:
				v.Spec.Template.Memory += 1 << 20
				must(f.UpdateVM(f.ctx, v))
			default:
				f.setStatus(v, v1.VirtualMachineStatus{PrintableStatus: strconv.Itoa(rapid.IntRange(0, 9).Draw(rt, "status"))})
			}
		}
		sentinel := must(f.CreateVM(f.ctx, vm("sentinel")))
		end, _ := strconv.ParseInt(sentinel.Metadata.ResourceVersion, 10, 64)
		want := replica{}
		vms, _, _ := f.ListVMs(f.ctx, "")
		for _, v := range vms {
			want[v.Metadata.Name] = digest(v)
		}
		replicas[""] = replica{}
		for from, r := range replicas {
			ctx, cancel := context.WithCancel(f.ctx)
			events := must(f.Watch(ctx, v1.KindVirtualMachine, registry.Scope{}, from))
			for e := range events {
				r.follow(rt, e)
				at, _ := strconv.ParseInt(e.ResourceVersion, 10, 64)
				if at >= end && (from != "" || e.Type == registry.Bookmark) {
					break
				}
			}
			cancel()
			if fmt.Sprint(r) != fmt.Sprint(want) {
				rt.Fatalf("from %q: the client knows %v, the store has %v", from, r, want)
			}
		}
	})
}
