package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// lines is a watch as curl sees it.
type lines struct {
	t    *testing.T
	body io.ReadCloser
	scan *bufio.Scanner
}

func (w *world) lines(path string) *lines {
	w.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.socket)
	}}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute) // a line that never comes must not hang the test
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/jsonl" {
		w.t.Fatalf("%s: %d %s", path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	l := &lines{t: w.t, body: resp.Body, scan: bufio.NewScanner(resp.Body)}
	w.t.Cleanup(l.close)
	return l
}

func (l *lines) close() { l.body.Close() }

func (l *lines) next() v1.WatchLine[v1.VirtualMachine] {
	l.t.Helper()
	if !l.scan.Scan() {
		l.t.Fatalf("the watch ended: %v", l.scan.Err())
	}
	var line v1.WatchLine[v1.VirtualMachine]
	if err := json.Unmarshal(l.scan.Bytes(), &line); err != nil {
		l.t.Fatalf("%v in %s", err, l.scan.Text())
	}
	return line
}

// object is the next line about an object, as "TYPE name".
func (l *lines) object() string {
	l.t.Helper()
	for {
		if line := l.next(); line.Object != nil {
			return string(line.Type) + " " + line.Object.Metadata.Name
		}
	}
}

func (l *lines) expect(want ...string) {
	l.t.Helper()
	for _, s := range want {
		if got := l.object(); got != s {
			l.t.Errorf("got %q, want %q", got, s)
		}
	}
}

func TestWatchShowsEveryChange(t *testing.T) {
	w := newWorld(t)
	w.createVM("a")
	version := must(w.client.ListVMs(t.Context(), "", client.ListOptions{}))(t).Metadata.ResourceVersion
	fresh := w.lines(vmsPath + "?watch=true")
	fromList := w.lines(vmsPath + "?watch=true&resourceVersion=" + version)
	onlyB := w.lines("/api/v1/virtualmachines?watch=true&name=b")
	fresh.expect("ADDED a")
	if line := fresh.next(); line.Type != v1.WatchBookmark || line.ResourceVersion == "" {
		t.Errorf("after the current objects: %+v", line)
	}
	b := w.createVM("b")
	w.setStatus(b, v1.VirtualMachineStatus{PrintableStatus: v1.PrintableRunning})
	must(w.client.DeleteVM(t.Context(), "", "b", client.DeleteOptions{}))(t)
	w.remove(b)
	w.createVM("c")
	for _, l := range []*lines{fresh, fromList} {
		l.expect("ADDED b", "MODIFIED b", "MODIFIED b", "DELETED b", "ADDED c")
	}
	onlyB.expect("ADDED b", "MODIFIED b", "MODIFIED b", "DELETED b")
}

func TestWatchSelectsByLabel(t *testing.T) {
	w := newWorld(t)
	relabel := func(name, app string) {
		vm := must(w.client.GetVM(t.Context(), "", name))(t)
		vm.Metadata.Labels = map[string]string{"app": app}
		must(w.client.UpdateVM(t.Context(), vm))(t)
	}
	w.createVM("a")
	w.createVM("other")
	version := must(w.client.ListVMs(t.Context(), "", client.ListOptions{}))(t).Metadata.ResourceVersion
	l := w.lines(vmsPath + "?watch=true&labelSelector=app%3Da")
	l.expect("ADDED a")
	relabel("other", "a")
	l.expect("ADDED other")
	relabel("a", "b")
	l.expect("DELETED a")
	relabel("a", "c") // does not concern the reader
	relabel("other", "b")
	l.expect("DELETED other")
	relabel("a", "a")
	l.expect("ADDED a")

	// A resumed watch knows nothing of what its reader has seen, and may take several changes together.
	l = w.lines(vmsPath + "?watch=true&labelSelector=app%3Da&resourceVersion=" + version)
	l.expect("DELETED other", "MODIFIED a")
}

// One revision may change many objects. A reader that is cut off between them must be able to resume from any line it has.
func TestWatchResumesInTheMiddleOfARevision(t *testing.T) {
	w := newWorld(t)
	version := must(w.client.ListVMs(t.Context(), "", client.ListOptions{}))(t).Metadata.ResourceVersion
	const n = 5
	var manifest strings.Builder
	for i := range n {
		fmt.Fprintf(&manifest, "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: vm%d}\nspec: {runStrategy: Manual, template: {memory: 1Gi}}\n---\n", i)
	}
	must(w.client.Apply(t.Context(), "", []byte(manifest.String()), client.ApplyOptions{}))(t)
	w.createVM("last")
	for cut := range n + 1 {
		seen := map[string]bool{}
		l := w.lines(vmsPath + "?watch=true&resourceVersion=" + version)
		resume := version
		for range cut {
			line := l.next()
			seen[line.Object.Metadata.Name] = true
			resume = line.ResourceVersion
		}
		l.close()
		l = w.lines(vmsPath + "?watch=true&resourceVersion=" + resume)
		for !seen["last"] {
			seen[l.next().Object.Metadata.Name] = true
		}
		l.close()
		if len(seen) != n+1 {
			t.Errorf("cut off after %d lines, the reader saw only %v", cut, slices.Sorted(maps.Keys(seen)))
		}
	}
}

func TestWatchTooOld(t *testing.T) {
	w := newWorld(t)
	version := must(w.client.ListVMs(t.Context(), "", client.ListOptions{}))(t).Metadata.ResourceVersion
	w.createVM("a")
	vm := w.createVM("b")
	compact(w, vm.Metadata.ResourceVersion)
	line := w.lines(vmsPath + "?watch=true&resourceVersion=" + version).next()
	if line.Type != v1.WatchError || line.Problem == nil || line.Problem.Status != http.StatusGone || !strings.Contains(line.Problem.Detail, "list again") {
		t.Errorf("got %+v", line)
	}
}

func compact(w *world, version string) {
	w.t.Helper()
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Compact(w.t.Context(), revision); err != nil {
		w.t.Fatal(err)
	}
}

func TestWatchHeartbeatAndEnd(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.start(w.registry, time.Millisecond)
	version := must(w.client.ListVMs(t.Context(), "", client.ListOptions{}))(t).Metadata.ResourceVersion
	l := w.lines(vmsPath + "?watch=true&resourceVersion=" + version)
	for range 3 {
		if line := l.next(); line.Type != v1.WatchBookmark || line.ResourceVersion != version {
			t.Errorf("got %+v", line)
		}
	}
	w.stop()
	for l.scan.Scan() {
	}
	if err := l.scan.Err(); err != nil {
		t.Errorf("a server that stops must end the stream, not break it: %v", err)
	}
}

// Writers write without pause while the server is restarted again and again, and its history compacted: the reader must end up
// with exactly what is there, and must have seen each VM's values in their order.
func TestClientWatchAcrossRestarts(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted=%v", compacted), func(t *testing.T) {
			w := newWorld(t)
			if err := w.client.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			const writers, writes, restarts = 4, 60, 5
			var group sync.WaitGroup
			begin := make(chan struct{}) // once the reader is there
			step := make(chan struct{})  // each restart waits for some writes, so that they do interleave
			for i := range writers {
				group.Go(func() {
					<-begin
					vm := newVM(fmt.Sprintf("vm%d", i))
					vm.Metadata.Annotations = map[string]string{"n": "0"}
					if _, err := w.registry.CreateVM(t.Context(), vm); err != nil {
						t.Error(err)
						return
					}
					for n := 1; n <= writes; n++ {
						vm.Metadata.Annotations = map[string]string{"n": strconv.Itoa(n)}
						if _, err := w.registry.UpdateVM(t.Context(), vm); err != nil {
							t.Error(err)
							return
						}
						if n%(writes/restarts) == 0 {
							step <- struct{}{}
						}
					}
				})
			}
			group.Go(func() {
				for i := range writers * restarts {
					<-step
					if i%writers != writers-1 {
						continue
					}
					w.stop()
					if compacted {
						compact(w, must(w.registry.CreateVM(t.Context(), newVM(fmt.Sprintf("marker%d", i))))(t).Metadata.ResourceVersion)
					}
					w.start(w.registry, 0)
				}
			})

			seen, disconnects := map[string]int{}, 0
			finished := func() bool {
				for i := range writers {
					if seen[fmt.Sprintf("vm%d", i)] != writes {
						return false
					}
				}
				return true
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for event, err := range w.client.WatchVMs(ctx, "", client.WatchOptions{OnDisconnect: func(error) { disconnects++ }}) {
				if err != nil {
					t.Fatalf("%v; seen %v", err, seen)
				}
				if event.Type == client.Synced {
					close(begin)
				}
				if event.Object == nil || !strings.HasPrefix(event.Object.Metadata.Name, "vm") {
					continue
				}
				n, _ := strconv.Atoi(event.Object.Metadata.Annotations["n"])
				if name := event.Object.Metadata.Name; event.Type == client.Deleted || event.Type == client.Added && n < seen[name] || n < seen[name] {
					t.Errorf("%s with %d after %d", describe(event), n, seen[name])
				} else {
					seen[name] = n
				}
				if finished() {
					break
				}
			}
			group.Wait()
			if disconnects == 0 {
				t.Error("no restart was noticed: the test tests nothing")
			}
		})
	}
}

func TestClientWatchListsAnewWhenItMissedTooMuch(t *testing.T) {
	w := newWorld(t)
	gone := w.createVM("gone")
	replaced := w.createVM("replaced")
	w.createVM("stays")
	var log []string
	for event, err := range w.client.WatchVMs(t.Context(), "", client.WatchOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, describe(event))
		if event.Type == client.Synced {
			w.stop()
			w.remove(gone)
			w.remove(replaced)
			must(w.registry.CreateVM(t.Context(), newVM("replaced")))(t)
			last := must(w.registry.CreateVM(t.Context(), newVM("z-new")))(t)
			compact(w, last.Metadata.ResourceVersion)
			w.start(w.registry, 0)
		}
		if describe(event) == "Added z-new" {
			break
		}
	}
	want := "Added gone, Added replaced, Added stays, Synced, Deleted gone, Deleted replaced, Added replaced, Added z-new"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWait(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	running := func(vm *v1.VirtualMachine) (bool, error) {
		return vm != nil && vm.Status.PrintableStatus == v1.PrintableRunning, nil
	}
	vm := w.createVM("web")
	calls := 0
	got, err := w.client.WaitVM(ctx, "", "web", func(now *v1.VirtualMachine) (bool, error) {
		if calls++; calls == 1 {
			w.setStatus(vm, v1.VirtualMachineStatus{PrintableStatus: v1.PrintableRunning})
		}
		return running(now)
	})
	if err != nil || got.Status.PrintableStatus != v1.PrintableRunning || calls != 2 {
		t.Errorf("%v after %d calls, %v", got, calls, err)
	}
	must(w.client.WaitVM(ctx, "default", "web", running))(t)

	if _, err := w.client.WaitVM(ctx, "", "web", func(now *v1.VirtualMachine) (bool, error) {
		if now != nil && now.Metadata.DeletionTimestamp == nil {
			must(w.client.DeleteVM(ctx, "", "web", client.DeleteOptions{}))(t)
			w.remove(vm)
		}
		return now == nil, nil
	}); err != nil {
		t.Error(err)
	}
	enough := errors.New("enough")
	if _, err := w.client.WaitVM(ctx, "", "nope", func(vm *v1.VirtualMachine) (bool, error) {
		if vm != nil {
			t.Errorf("there is no such VM: %v", vm)
		}
		return false, enough
	}); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	if _, err := w.client.WaitVM(ended, "", "nope", func(*v1.VirtualMachine) (bool, error) { cancel(); return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := w.client.WaitAction(ctx, "", "nope"); err == nil || !strings.Contains(err.Error(), "there is no action nope") {
		t.Errorf("got %v", err)
	}
}
