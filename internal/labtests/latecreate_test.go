package labtests

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// TestLateCreate: libvirtd hangs while VMs are being started on it, the calls time out, the leader changes, libvirtd thaws and carries
// out what it was asked long ago. Every VM boots exactly once.
func TestLateCreate(t *testing.T) {
	w := newWorld(t, 2)
	random := rand.New(rand.NewPCG(seed(t), 3))
	var names []string
	uids := map[string]string{}
	for i := range 4 {
		name := fmt.Sprintf("late%d", i)
		names = append(names, name)
		uids[name] = w.create(w.vm(name, v1.RunManual)).Metadata.UID
	}
	// Only host1 may take them; it freezes at a random moment of their launches.
	if _, err := w.server.client.CordonHost(t.Context(), "host2"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		w.act(name, v1.ActionStart, false)
	}
	time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
	if err := w.lab.Freeze("host1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "host1 is unreachable", func() bool {
		h, err := w.server.client.GetHost(t.Context(), "host1")
		return err == nil && h.Status.State == v1.HostUnreachable
	})
	w.server.kill()
	if _, err := w.lab.Hosts(); err != nil {
		t.Fatal(err)
	}
	w.server.start()
	if _, err := w.server.client.UncordonHost(t.Context(), "host2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new leader has reached host2", func() bool {
		h, err := w.server.client.GetHost(t.Context(), "host2")
		return err == nil && h.Status.State == v1.HostUp
	})
	if err := w.lab.Thaw("host1"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		w.is(name, v1.PrintableRunning)
		boot := w.booted(name)
		if on := w.hostsOf(uids[name], "--all"); len(on) != 1 {
			t.Errorf("%s is on %v, want one host", name, on)
		}
		if boots := w.beat(name).Boots; len(boots) != 1 {
			t.Errorf("%s was booted %d times, want once (%s)", name, len(boots), boot)
		}
	}
}
