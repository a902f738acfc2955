package registry_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func TestHosts(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateHost(f.ctx, host("h1")))
	if a.Spec.CPUOvercommit != v1.DefaultCPUOvercommit || a.Metadata.Generation != 1 || a.Metadata.Namespace != "" {
		t.Errorf("new host: %+v", a)
	}
	cordoned := must(f.SetUnschedulable(f.ctx, "h1", true))
	if !cordoned.Spec.Unschedulable || cordoned.Metadata.Generation != 2 {
		t.Errorf("cordoned: %+v", cordoned)
	}
	if again := must(f.SetUnschedulable(f.ctx, "h1", true)); again.Metadata.ResourceVersion != cordoned.Metadata.ResourceVersion {
		t.Error("cordoning twice wrote twice")
	}
	if open := must(f.SetUnschedulable(f.ctx, "h1", false)); open.Spec.Unschedulable {
		t.Error("not uncordoned")
	}
	update := host("h1")
	update.Spec.StartLimit = 9
	if u := must(f.UpdateHost(f.ctx, update)); u.Spec.StartLimit != 9 || u.Metadata.UID != a.Metadata.UID {
		t.Errorf("updated: %+v", u)
	}
	if all, version, err := f.ListHosts(f.ctx); len(all) != 1 || version == "" || err != nil {
		t.Errorf("list: %v %q %v", all, version, err)
	}
	if len(f.keys(layout.Revision)) != 0 {
		t.Error("no instance is built from a host: its old generations need not be kept")
	}
	_, err := f.GetHost(f.ctx, "h2")
	wantError(t, err, "Host h2 does not exist")
	_, err = f.SetUnschedulable(f.ctx, "h2", true)
	wantError(t, err, "Host h2 does not exist")
}

func TestDeleteHost(t *testing.T) {
	f := newFixture(t)
	must(f.CreateHost(f.ctx, host("h1")))
	f.txn(store.Txn{Put: []store.KV{{Key: layout.HostStatusKey("h1"), Value: []byte(`{}`)}}})
	a, b, c := must(f.CreateVM(f.ctx, vm("a"))), must(f.CreateVM(f.ctx, vm("b"))), must(f.CreateVM(f.ctx, vm("c")))
	f.setStatus(a, v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h1"}})
	f.setStatus(b, v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h2"}, Leftovers: []string{"h1"}})
	f.setStatus(c, v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h2"}})
	err := f.DeleteHost(f.ctx, "h1")
	wantError(t, err, "Host h1: these VMs are on the host or left something there: default/a, default/b: "+
		"cordon the host, stop them or move them away, and remove the host when it is empty and reachable")
	if !errors.As(err, new(*registry.ConflictError)) {
		t.Errorf("%T is no ConflictError", err)
	}
	f.setStatus(a, v1.VirtualMachineStatus{})
	f.setStatus(b, v1.VirtualMachineStatus{})
	if err := f.DeleteHost(f.ctx, "h1"); err != nil {
		t.Fatal(err)
	}
	if left := len(f.keys(layout.HostSpecKey("h1"))) + len(f.keys(layout.HostStatusKey("h1"))); left != 0 {
		t.Errorf("%d keys of the host are left", left)
	}
	wantError(t, f.DeleteHost(f.ctx, "h1"), "Host h1 does not exist")
}

// observe writes a host's status as the control plane does, which has taken the spec into account.
func (f *fixture) observe(name string, state v1.HostState) {
	f.t.Helper()
	h := must(f.GetHost(f.ctx, name))
	f.txn(store.Txn{Put: []store.KV{{Key: layout.HostStatusKey(name), Value: layout.Encode(layout.StatusOf[v1.HostStatus]{
		UID: h.Metadata.UID, Status: v1.HostStatus{State: state, ObservedGeneration: h.Metadata.Generation}})}}})
}

// A host is not removed under an engine that may be promising it.
func TestDeleteHostInUse(t *testing.T) {
	const cordonFirst = "Host h1: spec.unschedulable: the host is up, and an instance could be put on it while it is removed: " +
		`cordon it first ("holdfast host cordon h1")`
	promise := func(f *fixture) {
		f.setStatus(must(f.GetVM(f.ctx, "", "a")), v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h1"}})
	}
	for name, tc := range map[string]struct {
		state    v1.HostState
		cordoned bool
		// while happens right before the deletion's transaction.
		while func(f *fixture)
		want  string
	}{
		"not up":                       {state: v1.HostUnreachable},
		"up":                           {state: v1.HostUp, want: cordonFirst},
		"cordoned":                     {state: v1.HostUp, cordoned: true},
		"comes up":                     {state: v1.HostUnreachable, while: func(f *fixture) { f.observe("h1", v1.HostUp) }, want: cordonFirst},
		"uncordoned":                   {state: v1.HostUp, cordoned: true, while: func(f *fixture) { must(f.SetUnschedulable(f.ctx, "h1", false)) }, want: cordonFirst},
		"comes up and has an instance": {state: v1.HostConnecting, while: func(f *fixture) { f.observe("h1", v1.HostUp); promise(f) }, want: cordonFirst},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			must(f.CreateHost(f.ctx, host("h1")))
			must(f.CreateVM(f.ctx, vm("a")))
			must(f.SetUnschedulable(f.ctx, "h1", tc.cordoned))
			f.observe("h1", tc.state)
			r := f.Registry
			if tc.while != nil {
				r = registry.New(&beforeTxn{Store: f.st, do: func() { tc.while(f) }}, f.clock)
			}
			err := r.DeleteHost(f.ctx, "h1")
			_, found := f.keys(layout.HostSpecKey("h1"))[layout.HostSpecKey("h1")]
			switch {
			case tc.want != "":
				wantError(t, err, tc.want)
			case err != nil:
				t.Error(err)
			}
			if found != (tc.want != "") {
				t.Errorf("the host is there: %v", found)
			}
		})
	}
}

// What was promised before the control plane took the cordon into account counts: the deletion waits for that.
func TestDeleteHostWaitsForTheCordon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		must(f.CreateHost(f.ctx, host("h1")))
		a := must(f.CreateVM(f.ctx, vm("a")))
		f.observe("h1", v1.HostUp)
		must(f.SetUnschedulable(f.ctx, "h1", true))
		time.AfterFunc(time.Second, func() {
			f.setStatus(a, v1.VirtualMachineStatus{Instance: &v1.Instance{Host: "h1"}})
			f.observe("h1", v1.HostUp)
		})
		wantError(t, f.DeleteHost(f.ctx, "h1"), "Host h1: these VMs are on the host or left something there: default/a: "+
			"cordon the host, stop them or move them away, and remove the host when it is empty and reachable")

		must(f.SetUnschedulable(f.ctx, "h1", false))
		must(f.SetUnschedulable(f.ctx, "h1", true)) // and nobody leads
		wantError(t, f.DeleteHost(f.ctx, "h1"), "Host h1: spec.unschedulable: the control plane has not noticed yet that the host is cordoned: "+
			`see whether a server leads ("holdfast version"), and try again`)
	})
}

func TestCluster(t *testing.T) {
	f := newFixture(t)
	_, err := f.Config(f.ctx)
	wantError(t, err, "ClusterConfig cluster does not exist")
	configs := make([]*v1.ClusterConfig, 8)
	for _, err := range together(len(configs), func(i int) (err error) {
		configs[i], err = f.EnsureCluster(f.ctx)
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range configs {
		if c.Metadata.UID != configs[0].Metadata.UID || len(c.Metadata.UID) != 36 {
			t.Errorf("a second cluster: %+v", c.Metadata)
		}
	}
	edit := *configs[0]
	edit.Metadata.UID = "mine"
	edit.Spec.StartLimit.Cluster = 7
	edited := must(f.UpdateConfig(f.ctx, &edit))
	if edited.Metadata.UID != configs[0].Metadata.UID || edited.Metadata.Generation != 2 || must(f.Config(f.ctx)).Spec.StartLimit.Cluster != 7 {
		t.Errorf("edited: %+v", edited)
	}
}

func TestListEvents(t *testing.T) {
	f := newFixture(t)
	put := func(ref v1.ObjectRef, reason string, minute int) {
		e := v1.Event{TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindEvent}, Metadata: v1.ObjectMeta{Name: ref.Name + "." + reason},
			Object: ref, Reason: reason, LastAt: epoch.Add(60e9 * 1 << minute)}
		f.txn(store.Txn{Put: []store.KV{{Key: layout.EventKey(ref, reason), Value: layout.Encode(e)}}})
	}
	a := v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "default", Name: "a"}
	put(a, "Started", 2)
	put(a, "Crashed", 1)
	put(v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "lab", Name: "a"}, "Started", 0)
	put(v1.ObjectRef{Kind: v1.KindHost, Name: "a"}, "Unreachable", 3)
	for _, c := range []struct {
		filter registry.EventFilter
		want   string
	}{
		{registry.EventFilter{}, "Started Crashed Started Unreachable "},
		{registry.EventFilter{Namespace: "default"}, "Crashed Started "},
		{registry.EventFilter{Namespace: "default", Kind: v1.KindHost}, ""},
		{registry.EventFilter{Kind: v1.KindHost, Name: "a"}, "Unreachable "},
		{registry.EventFilter{Name: "b"}, ""},
		{registry.EventFilter{Name: "a"}, "Started Crashed Started Unreachable "},
		{registry.EventFilter{Namespace: "default", Kind: v1.KindVirtualMachine, Name: "a"}, "Crashed Started "},
		{registry.EventFilter{Namespace: "default", Kind: v1.KindVirtualMachine, Name: "aa"}, ""},
		{registry.EventFilter{Kind: v1.KindVirtualMachine, Name: "a"}, "Started Crashed Started "},
		{registry.EventFilter{Kind: "Pod"}, ""},
	} {
		events, _, err := f.ListEvents(f.ctx, c.filter)
		got := ""
		for _, e := range events {
			got += e.Reason + " "
		}
		if got != c.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", c.filter, got, err, c.want)
		}
	}
}
