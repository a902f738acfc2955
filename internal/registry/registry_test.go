package registry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fixture is a registry on a store of its own, at a time that stands still.
type fixture struct {
	*registry.Registry
	t   *testing.T
	ctx context.Context
	st  *memory.Store
	now time.Time
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, ctx: t.Context(), st: memory.New(), now: epoch}
	t.Cleanup(func() { _ = f.st.Close() })
	f.Registry = registry.New(f.st, f.clock)
	return f
}

// vm is a valid VM with one disk of its own.
func vm(name string, edits ...func(*v1.VirtualMachine)) *v1.VirtualMachine {
	v := &v1.VirtualMachine{
		Metadata: v1.ObjectMeta{Name: name},
		Spec: v1.VirtualMachineSpec{Template: v1.Template{Memory: 1 << 30,
			Disks: []v1.Disk{{Name: "root", Pool: "shared", Volume: name + ".qcow2"}}}},
	}
	for _, e := range edits {
		e(v)
	}
	return v
}

func disk(volume string) func(*v1.VirtualMachine) {
	return func(v *v1.VirtualMachine) { v.Spec.Template.Disks[0].Volume = volume }
}

func host(name string) *v1.Host {
	return &v1.Host{Metadata: v1.ObjectMeta{Name: name}, Spec: v1.HostSpec{URI: "qemu+ssh://root@" + name + "/system"}}
}

func docs(objects ...v1.Object) []v1.Document {
	out := make([]v1.Document, len(objects))
	for i, o := range objects {
		out[i] = v1.Document{Object: o}
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// keys are all keys with a prefix.
func (f *fixture) keys(prefix string) map[string]store.KV {
	f.t.Helper()
	kvs, _, err := f.st.List(f.ctx, prefix)
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]store.KV{}
	for _, kv := range kvs {
		out[kv.Key] = kv
	}
	return out
}

// setStatus writes a status as the engine does.
func (f *fixture) setStatus(v *v1.VirtualMachine, s v1.VirtualMachineStatus) int64 {
	f.t.Helper()
	return f.txn(store.Txn{Put: []store.KV{{Key: layout.VMStatusKey(v.Metadata.Namespace, v.Metadata.Name),
		Value: layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: v.Metadata.UID, Status: s})}}})
}

// remove deletes a VM's keys as the engine does when nothing of it is left.
func (f *fixture) remove(v *v1.VirtualMachine) int64 {
	f.t.Helper()
	t := store.Txn{Delete: []string{layout.VMSpecKey(v.Metadata.Namespace, v.Metadata.Name), layout.VMStatusKey(v.Metadata.Namespace, v.Metadata.Name)}}
	for _, c := range layout.Claims(v) {
		t.Delete = append(t.Delete, c.Key)
	}
	return f.txn(t)
}

func (f *fixture) txn(t store.Txn) int64 {
	f.t.Helper()
	revision, err := f.st.Txn(f.ctx, t)
	if err != nil {
		f.t.Fatal(err)
	}
	return revision
}

// wantError fails unless the text of err is exactly want.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
}

func (f *fixture) clock() time.Time { return f.now }

// beforeTxn lets something happen right before the first transaction.
type beforeTxn struct {
	store.Store
	do func()
}

func (s *beforeTxn) Txn(ctx context.Context, t store.Txn) (int64, error) {
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return s.Store.Txn(ctx, t)
}

// alwaysConflict is a store in which somebody else is always faster.
type alwaysConflict struct{ store.Store }

func (alwaysConflict) Txn(context.Context, store.Txn) (int64, error) { return 0, store.ErrConflict }

// afterList lets something happen right after the first list.
type afterList struct {
	store.Store
	do func()
}

func (s *afterList) List(ctx context.Context, prefixes ...string) ([]store.KV, int64, error) {
	kvs, revision, err := s.Store.List(ctx, prefixes...)
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return kvs, revision, err
}

// noList is a store in which nothing can be listed.
type noList struct{ store.Store }

func (noList) List(context.Context, ...string) ([]store.KV, int64, error) {
	return nil, 0, errors.New("nothing may be listed")
}
