package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/cli"
)

// One server from data directory to socket: it leads, decides, refuses a second one beside it, ends when told to, and its
// successor knows what it knew.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	o := cli.ServerOptions{DataDir: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "api.sock"), Version: "v1.2.3"}
	decided := func(vm *v1.VirtualMachine) (bool, error) {
		return vm.Status.PrintableStatus == v1.PrintableUnschedulable, nil
	}

	c, stop := start(t, o)
	vm := &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: "web"}, Spec: v1.VirtualMachineSpec{Template: v1.Template{Memory: 64 << 20}}}
	if _, err := c.CreateVM(t.Context(), vm); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitVM(t.Context(), "", "web", decided); err != nil {
		t.Fatal(err)
	}
	version, err := c.Version(t.Context())
	if err != nil || version.Leader != processName() || version.Version != "v1.2.3" {
		t.Errorf("version %+v, %v", version, err)
	}
	if err := serve(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server beside it: %v", err)
	}
	stop()

	c, stop = start(t, o)
	defer stop()
	if _, err := c.WaitVM(t.Context(), "", "web", decided); err != nil {
		t.Errorf("the successor does not know what its predecessor knew: %v", err)
	}
}

// start returns when the server serves, with a client of it and what ends it.
func start(t *testing.T, o cli.ServerOptions) (*client.Client, func()) {
	t.Helper()
	serving := make(chan struct{})
	o.Log = slog.New(untilServing{slog.DiscardHandler, serving})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o) }()
	select {
	case <-serving:
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	}
	c := client.New(o.Socket)
	return c, func() {
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}

// untilServing closes the channel when the server says that it serves.
type untilServing struct {
	slog.Handler
	serving chan struct{}
}

func (u untilServing) Enabled(context.Context, slog.Level) bool { return true }

func (u untilServing) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "serving" {
		close(u.serving)
	}
	return nil
}

func (u untilServing) WithAttrs([]slog.Attr) slog.Handler { return u }

func (u untilServing) WithGroup(string) slog.Handler { return u }
