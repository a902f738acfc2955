package cli

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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

// noon is when the tests happen.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// world is a real API server on a unix socket, in front of a store in memory. No control plane runs: tests write what it would.
type world struct {
	t      *testing.T
	socket string
	store  *memory.Store
	client *client.Client
	leader string
	// patience is Env.AnswerTimeout.
	patience time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, socket: filepath.Join(t.TempDir(), "api.sock"), store: memory.New(), leader: "here/1", patience: time.Minute}
	t.Cleanup(func() { w.store.Close() })
	reg := registry.New(w.store, func() time.Time { return ago(time.Hour) })
	if _, err := reg.EnsureCluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener, err := apiserver.ListenUnix(w.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := apiserver.New(reg, apiserver.Options{Version: "v1.2.3", Leader: func() string { return w.leader }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.client = client.New(w.socket)
	t.Cleanup(w.client.Close)
	return w
}

// result is what a command left.
type result struct {
	code     int
	out, err string
}

// run runs a command line against the server.
func (w *world) run(line ...string) result { return w.runWith(w.t.Context(), "", line...) }

func (w *world) runWith(ctx context.Context, stdin string, line ...string) result {
	var out, errOut lockedBuffer
	code := Run(ctx, w.env(stdin, &out, &errOut), line)
	return result{code, out.String(), errOut.String()}
}

func (w *world) env(stdin string, out, errOut *lockedBuffer) Env {
	return Env{In: strings.NewReader(stdin), Out: out, Err: errOut, Version: "v1.2.4", AnswerTimeout: w.patience,
		Now: func() time.Time { return noon }, Getenv: func(name string) string { return map[string]string{SocketVariable: w.socket}[name] }}
}

// ok runs a command that has to succeed, and returns what it wrote.
func (w *world) ok(line ...string) string {
	w.t.Helper()
	r := w.run(line...)
	if r.code != ExitOK {
		w.t.Fatalf("%q ended with %d: %s", line, r.code, r.err)
	}
	return r.out
}

// apply applies a manifest.
func (w *world) apply(manifest string) {
	w.t.Helper()
	if r := w.runWith(w.t.Context(), manifest, "apply", "-f", "-"); r.code != ExitOK {
		w.t.Fatal(r.err)
	}
}

// vm applies a small VM in the default namespace.
func (w *world) vm(name string, strategy v1.RunStrategy) {
	w.t.Helper()
	w.apply("apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: " + name + ", labels: {app: " + name + "}}\n" +
		"spec: {runStrategy: " + string(strategy) + ", template: {memory: 512Mi}}\n")
}

// status writes a VM's status as the core would.
func (w *world) status(name string, change func(*v1.VirtualMachineStatus)) {
	w.t.Helper()
	vm, err := w.client.GetVM(w.t.Context(), "", name)
	if err != nil {
		w.t.Fatal(err)
	}
	vm.Status.ObservedGeneration = vm.Metadata.Generation
	change(&vm.Status)
	w.put(store.KV{Key: layout.VMStatusKey(vm.Metadata.Namespace, name),
		Value: layout.Encode(layout.StatusOf[v1.VirtualMachineStatus]{UID: vm.Metadata.UID, Status: vm.Status})})
}

// host adds a host with a status.
func (w *world) host(name string, status v1.HostStatus) {
	w.t.Helper()
	h, err := w.client.CreateHost(w.t.Context(), &v1.Host{Metadata: v1.ObjectMeta{Name: name}, Spec: v1.HostSpec{URI: "qemu+tcp://" + name + "/system"}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.hostStatus(h, status)
}

func (w *world) hostStatus(h *v1.Host, status v1.HostStatus) {
	w.put(store.KV{Key: layout.HostStatusKey(h.Metadata.Name), Value: layout.Encode(layout.StatusOf[v1.HostStatus]{UID: h.Metadata.UID, Status: status})})
}

// event writes an event as the engine would.
func (w *world) event(vm, reason, message string, count int, last time.Time) {
	ref := v1.ObjectRef{Kind: v1.KindVirtualMachine, Namespace: "default", Name: vm}
	w.put(store.KV{Key: layout.EventKey(ref, reason), Value: layout.Encode(&v1.Event{
		TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindEvent},
		Metadata: v1.ObjectMeta{Name: vm + "." + strings.ToLower(reason), Namespace: "default"},
		Object:   ref, Type: v1.EventNormal, Reason: reason, Message: message, Count: count, FirstAt: last, LastAt: last})})
}

func (w *world) put(kvs ...store.KV) {
	w.t.Helper()
	if _, err := w.store.Txn(w.t.Context(), store.Txn{Put: kvs}); err != nil {
		w.t.Fatal(err)
	}
}

// answer waits for an action, and answers it as the core would.
func (w *world) answer(status v1.ActionStatus) *v1.Action {
	w.t.Helper()
	return w.answerAll(1, status)[0]
}

// answerAll does so for the first n actions there are.
func (w *world) answerAll(n int, status v1.ActionStatus) []*v1.Action {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var answered []*v1.Action
	for batch := range w.store.Watch(ctx, layout.Spec+layout.Action+"/", 1) {
		if batch.Err != nil {
			w.t.Fatal(batch.Err)
		}
		for _, c := range batch.Changes {
			a, err := layout.DecodeAction(c.KV, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			w.put(store.KV{Key: layout.ActionStatusKey(a.Metadata.Namespace, a.Metadata.Name),
				Value: layout.Encode(layout.StatusOf[v1.ActionStatus]{UID: a.Metadata.UID, Status: status})})
			if answered = append(answered, a); len(answered) == n {
				return answered
			}
		}
	}
	w.t.Fatal("the actions never came")
	return nil
}

// remove takes a VM away as the engine does when nothing of it is left.
func (w *world) remove(name string) {
	w.t.Helper()
	txn := store.Txn{Delete: []string{layout.VMSpecKey("default", name), layout.VMStatusKey("default", name)}}
	if _, err := w.store.Txn(w.t.Context(), txn); err != nil {
		w.t.Fatal(err)
	}
}

// lockedBuffer may be read while a command still writes.
type lockedBuffer struct {
	mu  sync.Mutex
	b   strings.Builder
	fed chan struct{}
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fed != nil {
		defer func() {
			select {
			case l.fed <- struct{}{}:
			default:
			}
		}()
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// await returns as soon as the text has been written; a test that waits for ever is ended by the test's own limit.
func (l *lockedBuffer) await(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.fed:
		case <-t.Context().Done():
			t.Fatalf("%q never came; there is %q", text, l.String())
		}
	}
}

var uids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// steady puts a fixed text in place of what differs each time.
func steady(s string) []byte { return []byte(uids.ReplaceAllString(s, "<uid>")) }
