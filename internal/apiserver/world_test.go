package apiserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/apiserver"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

// world is a store, a server in front of it on a real unix socket, and a client.
type world struct {
	t        *testing.T
	store    *memory.Store
	registry *registry.Registry
	socket   string
	client   *client.Client
	stop     func()
}

// newWorld starts a server. heartbeat zero means the usual one.
func newWorld(t *testing.T) *world {
	t.Helper()
	st := memory.New()
	t.Cleanup(func() { st.Close() })
	w := &world{t: t, store: st, socket: filepath.Join(t.TempDir(), "api.sock")}
	w.registry = registry.New(st, time.Now)
	if _, err := w.registry.EnsureCluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.client = client.New(w.socket)
	t.Cleanup(w.client.Close)
	w.start(w.registry, 0)
	return w
}

// start starts a server; the one before must have been stopped.
func (w *world) start(reg *registry.Registry, heartbeat time.Duration) {
	w.t.Helper()
	listener, err := apiserver.ListenUnix(w.socket)
	if err != nil {
		w.t.Fatal(err)
	}
	server := apiserver.New(reg, apiserver.Options{Version: "v1.2.3", Leader: func() string { return "me" }})
	if heartbeat > 0 {
		server.SetHeartbeat(heartbeat)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("serve: %v", err)
		}
	}
	w.t.Cleanup(w.stop)
}

// raw sends a request as curl would and returns the answer with its whole body.
func (w *world) raw(method, path, contentType, body string) (*http.Response, string) {
	w.t.Helper()
	h := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", w.socket)
		}}}
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://x"+path, bytes.NewBufferString(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := h.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(text)
}

func newVM(name string) *v1.VirtualMachine {
	return &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: v1.VirtualMachineSpec{RunStrategy: v1.RunManual, Template: v1.Template{Memory: 1 << 30}}}
}

func (w *world) createVM(name string) *v1.VirtualMachine {
	w.t.Helper()
	return must(w.client.CreateVM(w.t.Context(), newVM(name)))(w.t)
}

// setStatus does what the engine does.
func (w *world) setStatus(vm *v1.VirtualMachine, status v1.VirtualMachineStatus) {
	w.t.Helper()
	_, err := w.store.Txn(w.t.Context(), store.Txn{Put: []store.KV{{
		Key:   layout.VMStatusKey(vm.Metadata.Namespace, vm.Metadata.Name),
		Value: layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: vm.Metadata.UID, Status: status})}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// remove does what the engine does at the end of a deletion.
func (w *world) remove(vm *v1.VirtualMachine) {
	w.t.Helper()
	ns, name := vm.Metadata.Namespace, vm.Metadata.Name
	if _, err := w.store.Txn(w.t.Context(), store.Txn{Delete: []string{layout.VMSpecKey(ns, name), layout.VMStatusKey(ns, name)}}); err != nil {
		w.t.Fatal(err)
	}
}

// must makes must(f())(t) fail the test when f fails.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// describe is one line about an event of a watch.
func describe(e client.Event[v1.VirtualMachine]) string {
	if e.Object == nil {
		return string(e.Type)
	}
	return fmt.Sprintf("%s %s", e.Type, e.Object.Metadata.Name)
}
