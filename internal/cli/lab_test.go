package cli

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/lab"
)

// What "lab up" does once the lab is there: the hosts are added, and up when it returns.
func TestRegisterLab(t *testing.T) {
	w := newWorld(t)
	hosts := []lab.Host{
		{Name: "host1", URI: "qemu+tcp://host1/system", State: lab.On}, {Name: "host2", URI: "qemu+tcp://host2/system", State: lab.On},
		{Name: "host3", URI: "qemu+tcp://host3/system", State: lab.Off},
	}
	register := func(patience time.Duration) (out, errOut *lockedBuffer, done chan error) {
		out, errOut, done = &lockedBuffer{}, &lockedBuffer{fed: make(chan struct{}, 1)}, make(chan error, 1)
		go func() { done <- newApp(w.env("", out, errOut)).register(t.Context(), hosts, patience) }()
		return out, errOut, done
	}
	state := func(name string, state v1.HostState, message string) {
		h, err := w.client.GetHost(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		w.hostStatus(h, v1.HostStatus{State: state, Message: message})
	}

	out, errOut, done := register(0)
	errOut.await(t, "host/host1: Connecting")
	errOut.await(t, "host/host2: Connecting")
	select {
	case err := <-done:
		t.Fatalf("it does not wait: %v", err)
	default:
	}
	state("host1", v1.HostUp, "")
	state("host2", v1.HostConnecting, "nobody listens")
	errOut.await(t, "host/host2: Connecting: nobody listens")
	state("host2", v1.HostUp, "")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if want := "host/host1 added\nhost/host2 added\nhost/host3 added\nThe server has 2 hosts of the lab up.\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
	if strings.Contains(errOut.String(), "host3") {
		t.Errorf("it waits for a host that is switched off: %s", errOut.String())
	}

	state("host2", v1.HostRefused, "the same UUID as host1.")
	_, _, done = register(0)
	if err := <-done; exitCode(err) != ExitRefused || !strings.Contains(err.Error(), "host/host2") || !strings.Contains(err.Error(), "same UUID") {
		t.Errorf("a refused host: %v", err)
	}
	state("host2", v1.HostUnreachable, "nobody listens.")
	_, _, done = register(time.Millisecond)
	if err := <-done; exitCode(err) != ExitTimeout {
		t.Errorf("a host that does not come up: %v", err)
	}
}
