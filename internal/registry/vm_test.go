package registry_test

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func TestCreateVM(t *testing.T) {
	f := newFixture(t)
	sent := vm("db")
	sent.Metadata.UID, sent.Metadata.Generation, sent.Metadata.DeletionForce = "mine", 7, true
	sent.Status.PrintableStatus = "Running"
	got := must(f.CreateVM(f.ctx, sent))
	m := got.Metadata
	if len(m.UID) != 36 || strings.ToLower(m.UID) != m.UID || m.Generation != 1 || !m.CreationTimestamp.Equal(epoch) || m.Namespace != "default" ||
		m.DeletionForce || m.ResourceVersion == "" {
		t.Errorf("metadata of a new VM: %+v", m)
	}
	if got.Spec.RunStrategy != v1.RunAlways || got.Spec.Template.Disks[0].Format != v1.FormatQcow2 {
		t.Errorf("defaults are not stored: %+v", got.Spec)
	}
	if sent.Metadata.UID != "mine" || sent.Spec.RunStrategy != "" {
		t.Error("the caller's object was changed")
	}
	read := must(f.GetVM(f.ctx, "", "db"))
	if read.Metadata.UID != m.UID || read.Metadata.ResourceVersion != m.ResourceVersion || read.Status.PrintableStatus != "" {
		t.Errorf("read back: %+v", read)
	}
	for _, c := range layout.Claims(got) {
		if _, ok := f.keys(layout.Index)[c.Key]; !ok {
			t.Errorf("%s is not claimed", c.What)
		}
	}
	_, err := f.CreateVM(f.ctx, vm("db"))
	wantError(t, err, "VirtualMachine default/db: metadata.name: the object exists already: choose another name, or change the one that exists")
	_, err = f.CreateVM(f.ctx, &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: "x"}})
	wantError(t, err, "VirtualMachine default/x: spec.template.memory: missing: say how much the guest has, e.g. memory: 2Gi")
	_, err = f.GetVM(f.ctx, "", "nope")
	wantError(t, err, "VirtualMachine default/nope does not exist")
}

func TestUpdateVM(t *testing.T) {
	f := newFixture(t)
	first := must(f.CreateVM(f.ctx, vm("db")))
	f.setStatus(first, v1.VirtualMachineStatus{PrintableStatus: "Running"})

	same := must(f.UpdateVM(f.ctx, vm("db")))
	if same.Metadata.Generation != 1 || same.Status.PrintableStatus != "Running" {
		t.Errorf("an update that changes nothing: %+v", same)
	}
	labelled := must(f.UpdateVM(f.ctx, vm("db", func(v *v1.VirtualMachine) { v.Metadata.Labels = map[string]string{"a": "b"} })))
	if labelled.Metadata.Generation != 1 || labelled.Metadata.Labels["a"] != "b" || len(f.keys(layout.Revision)) != 0 {
		t.Errorf("a change of labels is not a new generation: %+v", labelled.Metadata)
	}
	grown := must(f.UpdateVM(f.ctx, vm("db", func(v *v1.VirtualMachine) { v.Spec.Template.Memory = 2 << 30 })))
	if grown.Metadata.Generation != 2 || grown.Metadata.UID != first.Metadata.UID || !grown.Metadata.CreationTimestamp.Equal(epoch) {
		t.Errorf("a change of spec: %+v", grown.Metadata)
	}
	old, ok := f.keys(layout.Revision)[layout.RevisionKey(first.Metadata.UID, 1)]
	if !ok {
		t.Fatal("the old generation is not kept")
	}
	kept := must(layout.DecodeVM(old, nil))
	if kept.Spec.Template.Memory != 1<<30 || kept.Metadata.Generation != 1 {
		t.Errorf("the kept generation: %+v", kept)
	}
	_, err := f.UpdateVM(f.ctx, vm("other"))
	wantError(t, err, "VirtualMachine default/other does not exist")
}

func TestStaleResourceVersion(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("db")))
	// A status that changed meanwhile is no reason to refuse an edit.
	f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Running"})
	a.Spec.Template.Memory = 2 << 30
	b := must(f.UpdateVM(f.ctx, a))
	a.Spec.Template.Memory = 3 << 30
	_, err := f.UpdateVM(f.ctx, a)
	wantError(t, err, "VirtualMachine default/db: metadata.resourceVersion: somebody else has changed the object since version "+
		a.Metadata.ResourceVersion+": read it again and repeat the change, or remove resourceVersion to overwrite")
	if !errors.As(err, new(*registry.ConflictError)) {
		t.Errorf("%T is no ConflictError", err)
	}
	b.Spec.Template.Memory = 4 << 30
	must(f.UpdateVM(f.ctx, b))
	b.Metadata.ResourceVersion = "new"
	_, err = f.UpdateVM(f.ctx, b)
	if !errors.As(err, new(*registry.InvalidError)) {
		t.Errorf("a resourceVersion that is no number: %v", err)
	}
	gone := vm("gone", func(v *v1.VirtualMachine) { v.Metadata.ResourceVersion = "1" })
	_, err = f.CreateVM(f.ctx, gone)
	wantError(t, err, "VirtualMachine default/gone: metadata.resourceVersion: the object does not exist (any more), and the request is about "+
		"version 1 of it: remove resourceVersion to create it anew")
}

func TestClaims(t *testing.T) {
	nic := func(mac string) func(*v1.VirtualMachine) {
		return func(v *v1.VirtualMachine) {
			v.Spec.Template.NICs = []v1.NIC{{Name: "lan", Network: "default", MAC: mac}}
		}
	}
	id := func(id string) func(*v1.VirtualMachine) {
		return func(v *v1.VirtualMachine) { v.Spec.Template.Firmware.UUID = id }
	}
	const remedy = ": choose another one, or remove it there first (a running VM keeps what it was started with until it ends)"
	for _, c := range []struct {
		name string
		a, b func(*v1.VirtualMachine)
		want string
	}{
		{"disk", disk("x"), disk("x"), "spec.template.disks[0]: disk shared/x belongs to VirtualMachine default/a" + remedy},
		{"mac", nic("52:54:00:AA:00:01"), nic("52:54:00:aa:00:01"),
			"spec.template.nics[0].mac: MAC address 52:54:00:aa:00:01 belongs to VirtualMachine default/a" + remedy},
		{"uuid", id("4dea22b3-1d52-d8f3-2516-782e98ab3fa0"), id("4DEA22B3-1d52-d8f3-2516-782e98ab3fa0"),
			"spec.template.firmware.uuid: UUID 4dea22b3-1d52-d8f3-2516-782e98ab3fa0 belongs to VirtualMachine default/a" + remedy},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			must(f.CreateVM(f.ctx, vm("a", c.a)))
			_, err := f.CreateVM(f.ctx, vm("b", c.b))
			wantError(t, err, "VirtualMachine default/b: "+c.want)
			if _, err := f.GetVM(f.ctx, "", "b"); !errors.As(err, new(*registry.NotFoundError)) {
				t.Errorf("the refused VM: %v", err)
			}
			must(f.CreateVM(f.ctx, vm("b")))
			_, err = f.UpdateVM(f.ctx, vm("b", c.b))
			wantError(t, err, "VirtualMachine default/b: "+c.want)
			_, err = newFixture(t).Apply(f.ctx, docs(vm("a", c.a), vm("b", c.b)), registry.ApplyOptions{})
			wantError(t, err, "VirtualMachine default/b: "+c.want)
		})
	}
}

func TestShareableAndReadOnlyDisksAreNotClaimed(t *testing.T) {
	f := newFixture(t)
	share := func(v *v1.VirtualMachine) {
		v.Spec.Template.Disks = []v1.Disk{{Name: "s", Path: "/dev/s", Shareable: true}, {Name: "r", Path: "/dev/r", ReadOnly: true}}
	}
	must(f.CreateVM(f.ctx, vm("a", share)))
	must(f.CreateVM(f.ctx, vm("b", share)))
}

// A claim that an edit drops stays: the instance that runs still writes to the disk.
func TestDroppedClaimStays(t *testing.T) {
	f := newFixture(t)
	must(f.CreateVM(f.ctx, vm("a", disk("x"))))
	must(f.UpdateVM(f.ctx, vm("a", disk("y"))))
	for _, volume := range []string{"x", "y"} {
		if _, err := f.CreateVM(f.ctx, vm("b", disk(volume))); !errors.As(err, new(*registry.ConflictError)) {
			t.Errorf("disk %s: %v", volume, err)
		}
	}
	must(f.UpdateVM(f.ctx, vm("a", disk("x")))) // its own claim is no conflict
}

func TestDeleteVM(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	_, err := f.DeleteVM(f.ctx, "", "a", registry.DeleteOptions{UID: "other"})
	wantError(t, err, "VirtualMachine default/a: metadata.uid: this VM's uid is "+a.Metadata.UID+", not other: another VM has taken the name: "+
		"look at it, and delete it by its own uid if you mean this one")
	d := must(f.DeleteVM(f.ctx, "", "a", registry.DeleteOptions{UID: a.Metadata.UID}))
	if d.Metadata.DeletionTimestamp == nil || !d.Metadata.DeletionTimestamp.Equal(epoch) || d.Metadata.DeletionForce || d.Metadata.Generation != 2 {
		t.Errorf("after delete: %+v", d.Metadata)
	}
	if _, ok := f.keys(layout.Revision)[layout.RevisionKey(a.Metadata.UID, 1)]; !ok {
		t.Error("the generation that an instance may be built from is not kept")
	}
	f.now = epoch.Add(1e9)
	again := must(f.DeleteVM(f.ctx, "", "a", registry.DeleteOptions{}))
	if again.Metadata.ResourceVersion != d.Metadata.ResourceVersion {
		t.Error("deleting twice wrote twice")
	}
	forced := must(f.DeleteVM(f.ctx, "", "a", registry.DeleteOptions{Force: true}))
	if !forced.Metadata.DeletionForce || !forced.Metadata.DeletionTimestamp.Equal(epoch) || forced.Metadata.Generation != 2 {
		t.Errorf("after delete with force: %+v", forced.Metadata)
	}

	const terminating = "VirtualMachine default/a is being deleted and cannot be changed: wait until it is gone, then create it anew"
	_, err = f.UpdateVM(f.ctx, vm("a"))
	wantError(t, err, terminating)
	_, err = f.Apply(f.ctx, docs(vm("a")), registry.ApplyOptions{})
	wantError(t, err, terminating)
	_, err = f.PostAction(f.ctx, "", "a", registry.ActionRequest{Type: v1.ActionStart})
	wantError(t, err, terminating)

	f.remove(forced)
	successor := must(f.CreateVM(f.ctx, vm("a")))
	if successor.Metadata.UID == a.Metadata.UID || successor.Metadata.DeletionTimestamp != nil {
		t.Errorf("successor: %+v", successor.Metadata)
	}
}

// A deletion goes through even when the index says that the VM's disk is another's.
func TestDeleteVMWithoutItsClaims(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	f.txn(store.Txn{Put: []store.KV{{Key: layout.Claims(a)[0].Key, Value: layout.Encode(layout.ClaimOwner{UID: "other"})}}})
	must(f.DeleteVM(f.ctx, "", "a", registry.DeleteOptions{}))
}

func TestListVMs(t *testing.T) {
	f := newFixture(t)
	inLab := func(v *v1.VirtualMachine) { v.Metadata.Namespace = "lab" }
	for _, v := range []*v1.VirtualMachine{vm("b"), vm("a"), vm("c", inLab)} {
		must(f.CreateVM(f.ctx, v))
	}
	a := must(f.GetVM(f.ctx, "default", "a"))
	f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Running"})
	for _, c := range []struct{ namespace, want string }{{"", "a b c"}, {"default", "a b"}, {"lab", "c"}, {"la", ""}} {
		var names []string
		vms, version, err := f.ListVMs(f.ctx, c.namespace)
		for _, v := range vms {
			names = append(names, v.Metadata.Name)
		}
		if got := strings.Join(names, " "); got != c.want || err != nil || version == "" {
			t.Errorf("namespace %q: %q, version %q, %v", c.namespace, got, version, err)
		}
	}
	for _, c := range []struct {
		scope registry.Scope
		want  int
	}{
		{registry.Scope{Namespace: "default", Name: "a"}, 1},
		{registry.Scope{Name: "c"}, 1},
		{registry.Scope{Namespace: "default", Name: "c"}, 0},
		{registry.Scope{Namespace: "default", Name: "lab/c"}, 0},
	} {
		vms, version, err := registry.List[*v1.VirtualMachine](f.ctx, f.Registry, c.scope)
		if len(vms) != c.want || err != nil || version == "" {
			t.Errorf("%+v: %d VMs, version %q, %v", c.scope, len(vms), version, err)
		}
		if len(vms) > 0 && (vms[0].Metadata.Name != c.scope.Name || (vms[0].Status.PrintableStatus == "Running") != (c.scope.Name == "a")) {
			t.Errorf("%+v: %+v", c.scope, vms[0])
		}
	}
	vms, _, _ := f.ListVMs(f.ctx, "default")
	if vms[0].Status.PrintableStatus != "Running" || vms[1].Status.PrintableStatus != "" {
		t.Error("statuses are not joined to their VMs")
	}
}

// One object is not searched for among all.
func TestOneObjectIsReadAlone(t *testing.T) {
	f := newFixture(t)
	a := must(f.CreateVM(f.ctx, vm("a")))
	must(f.CreateVM(f.ctx, vm("b")))
	must(f.CreateHost(f.ctx, host("h")))
	f.Registry = registry.New(noList{f.st}, f.clock)
	one := registry.Scope{Namespace: "default", Name: "a"}
	if vms, _, err := registry.List[*v1.VirtualMachine](f.ctx, f.Registry, one); len(vms) != 1 || err != nil {
		t.Errorf("%d VMs, %v", len(vms), err)
	}
	if hosts, _, err := registry.List[*v1.Host](f.ctx, f.Registry, registry.Scope{Name: "h"}); len(hosts) != 1 || err != nil {
		t.Errorf("%d hosts, %v", len(hosts), err)
	}
	events := f.watchScope(v1.KindVirtualMachine, one, "")
	must(f.UpdateVM(f.ctx, vm("b", disk("other"))))
	f.setStatus(a, v1.VirtualMachineStatus{PrintableStatus: "Running"})
	wantEvents(t, events, "ADDED a gen 1", "BOOKMARK", "MODIFIED a gen 1 Running")
}
