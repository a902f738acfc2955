package registry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func results(applied []registry.Applied) string {
	s := ""
	for _, a := range applied {
		s += fmt.Sprintf("%s %s/%s %s\n", a.Kind, a.Namespace, a.Name, a.Result)
	}
	return s
}

func TestApply(t *testing.T) {
	f := newFixture(t)
	config := &v1.ClusterConfig{}
	must(f.EnsureCluster(f.ctx))
	dry := must(f.Apply(f.ctx, docs(host("h1"), vm("a")), registry.ApplyOptions{DryRun: true}))
	if len(f.keys(layout.Spec)) != 1 {
		t.Error("a dry run wrote")
	}
	first := must(f.Apply(f.ctx, docs(host("h1"), vm("a"), config), registry.ApplyOptions{}))
	want := "Host /h1 created\nVirtualMachine default/a created\nClusterConfig /cluster unchanged\n"
	if results(first) != want || results(dry) != "Host /h1 created\nVirtualMachine default/a created\n" {
		t.Errorf("first:\n%sdry run:\n%s", results(first), results(dry))
	}
	at := map[int64]bool{}
	for _, key := range []string{layout.HostSpecKey("h1"), layout.VMSpecKey("default", "a")} {
		at[f.keys(key)[key].ModRevision] = true
	}
	if len(at) != 1 {
		t.Errorf("one apply made %d revisions", len(at))
	}
	config = &v1.ClusterConfig{Spec: v1.ClusterConfigSpec{StartLimit: v1.StartLimit{PerHost: 2}}}
	second := must(f.Apply(f.ctx, docs(host("h1"), vm("a", disk("new")), vm("b"), config), registry.ApplyOptions{}))
	want = "Host /h1 unchanged\nVirtualMachine default/a configured\nVirtualMachine default/b created\nClusterConfig /cluster configured\n"
	if results(second) != want {
		t.Errorf("second:\n%s", results(second))
	}
	before := f.keys("")
	must(f.Apply(f.ctx, docs(host("h1"), vm("a", disk("new")), vm("b"), config), registry.ApplyOptions{}))
	if !maps.EqualFunc(before, f.keys(""), func(a, b store.KV) bool { return a.ModRevision == b.ModRevision }) {
		t.Error("applying what is there already wrote")
	}
}

func TestApplyAllOrNothing(t *testing.T) {
	f := newFixture(t)
	must(f.CreateVM(f.ctx, vm("taken")))
	before := f.keys("")
	good, stale := docs(vm("good"))[0], docs(vm("stale"))[0]
	stale.Object.GetMetadata().ResourceVersion = "3"
	stale.File, stale.Line = "vms.yaml", 9
	bad := docs(vm("bad", func(v *v1.VirtualMachine) { v.Spec.Template.Memory = 1 }))[0]
	thief := docs(vm("thief", disk("taken.qcow2")))[0]
	_, err := f.Apply(f.ctx, []v1.Document{good, stale, bad, thief}, registry.ApplyOptions{})
	wantError(t, err, "vms.yaml:9: VirtualMachine default/stale: metadata.resourceVersion: the object does not exist (any more), and the request is "+
		"about version 3 of it: remove resourceVersion to create it anew\n"+
		"VirtualMachine default/bad: spec.template.memory: 1 is less than any guest can boot with: give it at least 16Mi\n"+
		"VirtualMachine default/thief: spec.template.disks[0]: disk shared/taken.qcow2 belongs to VirtualMachine default/taken: choose another one, "+
		"or remove it there first (a running VM keeps what it was started with until it ends)")
	if len(f.keys("")) != len(before) {
		t.Error("part of a refused apply was written")
	}
	_, err = f.Apply(f.ctx, docs(vm("a"), vm("a")), registry.ApplyOptions{})
	wantError(t, err, "VirtualMachine default/a: metadata.name: the same object comes twice in one request: keep one of the two")
}

// Two VMs may not swap their disks in one go: each still runs with what it was started with.
func TestApplyDoesNotSwapDisks(t *testing.T) {
	f := newFixture(t)
	must(f.Apply(f.ctx, docs(vm("a", disk("x")), vm("b", disk("y"))), registry.ApplyOptions{}))
	_, err := f.Apply(f.ctx, docs(vm("a", disk("y")), vm("b", disk("x"))), registry.ApplyOptions{})
	if !errors.As(err, new(*registry.ConflictError)) {
		t.Errorf("error: %v", err)
	}
}

func TestApplyTooLarge(t *testing.T) {
	f := newFixture(t)
	var objects []v1.Object
	for i := range store.MaxTxnOps/3 + 1 { // the object, its disk and its UUID are three writes
		objects = append(objects, vm(fmt.Sprintf("vm%d", i)))
	}
	for _, o := range []registry.ApplyOptions{{}, {DryRun: true}} {
		_, err := f.Apply(f.ctx, docs(objects...), o)
		wantError(t, err, "the request needs 4098 operations in one transaction, and the store takes 4096 at once: split it into smaller ones")
	}
	if len(f.keys("")) != 0 {
		t.Error("part of it was written")
	}
	must(f.Apply(f.ctx, docs(objects[1:]...), registry.ApplyOptions{}))
}

// Few objects can be too large, too, and a change takes more than a creation: the old generation is kept beside the new.
func TestApplyTooManyBytes(t *testing.T) {
	f := newFixture(t)
	var objects []v1.Object
	for i := range 10 {
		objects = append(objects, vm(fmt.Sprintf("vm%d", i), func(v *v1.VirtualMachine) {
			v.Spec.Template.CloudInit = &v1.CloudInit{Pool: "shared", UserData: "#cloud-config\n" + strings.Repeat("#", 500<<10)}
		}))
	}
	must(f.Apply(f.ctx, docs(objects...), registry.ApplyOptions{}))
	before := f.keys("")
	for _, o := range objects {
		o.(*v1.VirtualMachine).Spec.Template.Memory *= 2
	}
	for _, o := range []registry.ApplyOptions{{}, {DryRun: true}} {
		_, err := f.Apply(f.ctx, docs(objects...), o)
		if !errors.As(err, new(*registry.TooLargeError)) || !strings.Contains(err.Error(), "KiB in one transaction, and the store takes 8192 KiB at once: split it") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if !maps.EqualFunc(before, f.keys(""), func(a, b store.KV) bool { return a.ModRevision == b.ModRevision }) {
		t.Error("part of it was written")
	}
	must(f.Apply(f.ctx, docs(objects[:5]...), registry.ApplyOptions{}))
}

func TestApplyKeepsCordon(t *testing.T) {
	f := newFixture(t)
	manifest := "apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: h1}\nspec: {uri: 'qemu+tls://h1/system'}\n"
	apply := func(text string) *v1.Host {
		must(f.Apply(f.ctx, must(v1.DecodeManifests("", []byte(text))), registry.ApplyOptions{}))
		return must(f.GetHost(f.ctx, "h1"))
	}
	apply(manifest)
	must(f.SetUnschedulable(f.ctx, "h1", true))
	if !apply(manifest).Spec.Unschedulable {
		t.Error("applying a manifest that does not name it lifted the cordon")
	}
	explicit := "apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: h1}\nspec: {uri: 'qemu+tls://h1/system', unschedulable: false}\n"
	if apply(explicit).Spec.Unschedulable {
		t.Error("a manifest that says so did not lift the cordon")
	}
}

// counting is a store that counts what it is asked.
type counting struct {
	store.Store
	asked []string
}

func (s *counting) Get(ctx context.Context, key string) (store.KV, error) {
	s.asked = append(s.asked, "get")
	return s.Store.Get(ctx, key)
}

func (s *counting) GetAll(ctx context.Context, keys []string) ([]store.KV, int64, error) {
	s.asked = append(s.asked, "get all")
	return s.Store.GetAll(ctx, keys)
}

func (s *counting) List(ctx context.Context, prefixes ...string) ([]store.KV, int64, error) {
	s.asked = append(s.asked, "list")
	return s.Store.List(ctx, prefixes...)
}

func (s *counting) Txn(ctx context.Context, t store.Txn) (int64, error) {
	s.asked = append(s.asked, "txn")
	return s.Store.Txn(ctx, t)
}

// However many objects are applied, the store is asked for what exists, for what is claimed, and to write it all.
func TestApplyAsksTheStoreThreeTimes(t *testing.T) {
	f := newFixture(t)
	st := &counting{Store: f.st}
	f.Registry = registry.New(st, f.clock)
	objects := make([]v1.Object, 100)
	for i := range objects {
		objects[i] = vm(fmt.Sprintf("vm-%d", i))
	}
	for _, want := range [][]string{{"get all", "get all", "txn"}, {"get all"}} { // the second time nothing changes
		st.asked = nil
		must(f.Apply(f.ctx, docs(objects...), registry.ApplyOptions{}))
		if !slices.Equal(st.asked, want) {
			t.Errorf("the store was asked %v, want %v", st.asked, want)
		}
	}
}
