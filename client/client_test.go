package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
)

// serve answers on a unix socket with a handler of the test's.
func serve(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)
	c := client.New(socket)
	t.Cleanup(c.Close)
	return c
}

func TestNoServer(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	for _, socket := range []string{filepath.Join(dir, "none"), dead} {
		c := client.New(socket)
		want := "the Holdfast server is not running at " + socket + ": start it with `holdfast server` or name its socket with --socket"
		for name, call := range map[string]func() error{
			"get": func() error { _, err := c.GetVM(t.Context(), "", "web"); return err },
			"action": func() error {
				_, err := c.PostAction(t.Context(), "", "web", v1.ActionRequest{Type: v1.ActionStop})
				return err
			},
			"wait": func() error {
				_, err := c.WaitVM(t.Context(), "", "web", func(*v1.VirtualMachine) (bool, error) { return true, nil })
				return err
			},
		} {
			if err := call(); err == nil || err.Error() != want || !client.IsUnavailable(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestForbiddenSocket(t *testing.T) {
	err := error(&client.ConnectionError{Socket: "/run/s", Err: &net.OpError{Op: "dial", Err: os.ErrPermission}})
	if !strings.Contains(err.Error(), "only the user that runs the server may") {
		t.Error(err)
	}
}

// A socket that cannot be is no broken connection: nothing was sent.
func TestImpossibleSocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(file, "api.sock")
	_, err := client.New(socket).Version(t.Context())
	want := "cannot connect to the Holdfast server at " + socket + " (connect: not a directory): " +
		"name the socket of a running server with --socket; nothing was sent"
	if err == nil || err.Error() != want || !client.IsUnavailable(err) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A connection that breaks is told without Go's names for the layers in between.
func TestBrokenConnection(t *testing.T) {
	post := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://holdfast/api/v1/apply?file=x", Err: err}
	}
	written := &net.OpError{Op: "write", Net: "unix", Addr: &net.UnixAddr{Name: "/run/s.new/s"}, Err: os.NewSyscallError("write", syscall.EPIPE)}
	for want, err := range map[string]error{
		"broken pipe": post(written),
		"the server closed it before the whole answer was there": post(io.EOF),
		"net/http: timeout awaiting response headers":            post(errors.New("net/http: timeout awaiting response headers")),
		"read the answer to GET /: invalid character 'x'":        errors.New("read the answer to GET /: invalid character 'x'"),
	} {
		want = "the connection to the Holdfast server at /run/s broke (" + want + "); the request may or may not have had its effect: " +
			"see what is there before you ask again"
		if got := (&client.ConnectionError{Socket: "/run/s", Err: err}); got.Error() != want || !errors.Is(got, err) {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, contentType, body string
		status                  int
		want                    string
	}{
		{"a problem", "application/problem+json", `{"title":"Conflict","status":409,"detail":"it exists already"}`, 409, "it exists already"},
		{"with errors", "application/problem+json; charset=utf-8",
			`{"status":422,"detail":"web.yaml is not valid","errors":[{"message":"missing","location":"spec.x","file":"web.yaml","line":3,"column":5},` +
				`{"message":"odd","line":4},{"message":"wrong","file":"web.yaml"}]}`,
			422, "web.yaml is not valid\n  web.yaml:3:5: spec.x: missing\n  line 4: odd\n  web.yaml: wrong"},
		{"an error that the detail says already", "application/problem+json", `{"status":409,"detail":"x: taken","errors":[{"message":"taken","location":"x"}]}`,
			409, "x: taken"},
		{"plain text", "text/plain", "oops\n", 500, "oops"},
		{"nothing", "", "", 502, "the server answered 502 Bad Gateway"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.WriteHeader(tc.status)
				w.Write([]byte(tc.body))
			})
			_, err := c.GetVM(t.Context(), "", "web")
			var p *client.Problem
			if !errors.As(err, &p) || p.Status != tc.status || p.Title != http.StatusText(tc.status) || err.Error() != tc.want {
				t.Errorf("got %#v: %v", p, err)
			}
		})
	}
}

// The answer to a request that had its effect is lost, as when the server is killed in the middle.
func TestPostActionAgainAfterALostAnswer(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var request v1.ActionRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, request.RequestID)
		if len(ids) < 3 {
			panic(http.ErrAbortHandler)
		}
		json.NewEncoder(w).Encode(v1.Action{Metadata: v1.ObjectMeta{Name: request.RequestID}})
	})
	action, err := c.PostAction(t.Context(), "", "web", v1.ActionRequest{Type: v1.ActionStart})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ids) != 3 || ids[0] == "" || ids[0] != ids[1] || ids[1] != ids[2] || action.Metadata.Name != ids[0] {
		t.Errorf("request ids %q, action %q", ids, action.Metadata.Name)
	}
}

func TestPostActionSaysHowToAskAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	cancelled := make(chan error, 1)
	go func() {
		_, err := c.PostAction(ctx, "ns", "web", v1.ActionRequest{Type: v1.ActionStart, RequestID: "my-id"})
		cancelled <- err
	}()
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "my-id") {
		t.Errorf("got %v", err)
	}
}

// Other writes are not repeated: they could do twice what was wanted once.
func TestCreateIsNotRepeated(t *testing.T) {
	var calls atomic.Int32
	c := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1); panic(http.ErrAbortHandler) })
	_, err := c.CreateVM(t.Context(), &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: "web"}})
	var connection *client.ConnectionError
	if !errors.As(err, &connection) || connection.NotRunning() || !strings.Contains(err.Error(), "may or may not have had its effect") {
		t.Errorf("got %v", err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestRequestsOnTheWire(t *testing.T) {
	var mu sync.Mutex
	var got string
	var body v1.VirtualMachine
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = r.Method + " " + r.URL.RequestURI()
		body = v1.VirtualMachine{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Write([]byte("{}"))
	})
	ctx := t.Context()
	vm := &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: "web"}}
	for want, call := range map[string]func(){
		"POST /api/v1/namespaces/default/virtualmachines":                   func() { _, _ = c.CreateVM(ctx, vm) },
		"PUT /api/v1/namespaces/default/virtualmachines/web":                func() { _, _ = c.UpdateVM(ctx, vm) },
		"GET /api/v1/virtualmachines?labelSelector=a%3Db&name=x":            func() { _, _ = c.ListVMs(ctx, "", client.ListOptions{Name: "x", LabelSelector: "a=b"}) },
		"GET /api/v1/namespaces/a%2Fb/virtualmachines/c%3Fd":                func() { _, _ = c.GetVM(ctx, "a/b", "c?d") },
		"DELETE /api/v1/namespaces/ns/virtualmachines/web?force=true&uid=u": func() { _, _ = c.DeleteVM(ctx, "ns", "web", client.DeleteOptions{Force: true, UID: "u"}) },
		"GET /api/v1/namespaces/ns/events?kind=VirtualMachine&name=web":     func() { _, _ = c.ListEvents(ctx, "ns", client.EventOptions{Kind: "VirtualMachine", Name: "web"}) },
		"POST /api/v1/apply?dryRun=true&file=m.yaml&namespace=ns":           func() { _, _ = c.Apply(ctx, "m.yaml", nil, client.ApplyOptions{DryRun: true, Namespace: "ns"}) },
		"POST /api/v1/apply?dryRun=true&namespace=n":                        func() { _, _ = c.ApplyFiles(ctx, nil, client.ApplyOptions{DryRun: true, Namespace: "n"}) },
		"POST /api/v1/hosts/h/uncordon":                                     func() { _, _ = c.UncordonHost(ctx, "h") },
		"POST /api/v1/hosts/h/confirm-down":                                 func() { _, _ = c.ConfirmHostDown(ctx, "h") },
	} {
		call()
		mu.Lock()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.HasSuffix(want, "s") && body.Kind != v1.KindVirtualMachine && strings.HasPrefix(want, "POST /api/v1/namespaces") {
			t.Errorf("the body does not say what it is: %+v", body)
		}
		mu.Unlock()
	}
	if vm.Kind != "" {
		t.Error("the caller's object was changed")
	}
}
