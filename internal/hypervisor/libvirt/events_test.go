package libvirt

import (
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func TestEndings(t *testing.T) {
	const started, suspended, stopped, shutdown, crashed = 2, 3, 5, 6, 8
	type event struct {
		kind, detail int32
		want         string
	}
	for name, events := range map[string][]event{
		"guest powers off":     {{shutdown, 1, "shutdown-guest"}, {stopped, 0, "shutdown-guest"}, {started, 0, ""}},
		"QEMU gets SIGTERM":    {{shutdown, 2, "shutdown-host"}, {stopped, 0, "shutdown-host"}},
		"an old libvirt":       {{shutdown, 0, hypervisor.WhyShutdown}, {stopped, 0, hypervisor.WhyShutdown}},
		"only the end is seen": {{stopped, 0, hypervisor.WhyShutdown}},
		"panic":                {{suspended, 0, ""}, {crashed, 0, hypervisor.WhyCrashed}, {stopped, 2, hypervisor.WhyCrashed}},
		"switched off":         {{stopped, 1, hypervisor.WhyDestroyed}},
		"switched off while shutting down": {{shutdown, 1, "shutdown-guest"}, {stopped, 1, hypervisor.WhyDestroyed},
			{started, 0, ""}, {stopped, 0, hypervisor.WhyShutdown}},
		"moved":          {{suspended, 1, ""}, {stopped, 3, hypervisor.WhyMigrated}},
		"saved":          {{stopped, 4, hypervisor.WhySaved}},
		"QEMU is killed": {{stopped, 5, hypervisor.WhyCrashed}},
		"from snapshot":  {{stopped, 6, "from-snapshot"}},
	} {
		e := endings{}
		for i, ev := range events {
			got := e.of("id", golibvirt.DomainEventLifecycleMsg{Event: ev.kind, Detail: ev.detail})
			if got != ev.want {
				t.Errorf("%s: event %d says %q, want %q", name, i, got, ev.want)
			}
		}
		if len(e) != 0 && events[len(events)-1].kind == stopped {
			t.Errorf("%s: something is remembered after the end: %v", name, e)
		}
	}
}

func TestPendingEvents(t *testing.T) {
	p := newPendingEvents()
	out := make(chan hypervisor.Event)
	if ch, _ := p.head(out); ch != nil {
		t.Error("an empty queue offers an event")
	}
	p.add(hypervisor.Event{UUID: "a"}, true)
	p.add(hypervisor.Event{UUID: "b", Ended: "crashed"}, false)
	p.add(hypervisor.Event{UUID: "a", Ended: "shutdown-guest"}, false)
	p.add(hypervisor.Event{UUID: "a"}, false) // undefined, say: how it ended stays known
	p.add(hypervisor.Event{UUID: "a", Ended: hypervisor.Reset}, false)
	p.add(hypervisor.Event{UUID: "b"}, true) // started anew: how it ended before says nothing about it now
	for _, want := range []hypervisor.Event{{UUID: "a", Ended: "shutdown-guest"}, {UUID: "b"}} {
		ch, got := p.head(out)
		if ch == nil || got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		p.pop()
	}
	if ch, _ := p.head(out); ch != nil || len(p.byID) != 0 {
		t.Error("more events came out than domains went in")
	}
}
