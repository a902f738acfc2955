package libvirt

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// How a domain ended, where libvirt's event says more than its state.
const (
	endedByGuest = "shutdown-guest"
	endedByHost  = "shutdown-host"
)

// subscribe asks for the events and starts to collect them. Its goroutine ends when the connection is lost.
func (c *conn) subscribe(ctx context.Context) error {
	var lifecycle <-chan golibvirt.DomainEventLifecycleMsg
	var reboots <-chan any
	// The subscriptions end with their link, not with a context: the client then has nobody left to unsubscribe from.
	err := c.call(ctx, c.eventLink, "subscribe to events", func(v *golibvirt.Libvirt) (err error) {
		if lifecycle, err = v.LifecycleEvents(context.Background()); err != nil {
			return err
		}
		reboots, err = v.SubscribeEvents(context.Background(), golibvirt.DomainEventIDReboot, nil)
		return err
	})
	if err != nil && lifecycle == nil {
		return err
	}
	c.pumped = make(chan struct{})
	go c.pump(lifecycle, reboots)
	return err
}

// pump hands events on. It always reads, because the client keeps what nobody reads for ever, and holds at most one event a
// domain for a consumer that is slow.
func (c *conn) pump(lifecycle <-chan golibvirt.DomainEventLifecycleMsg, reboots <-chan any) {
	defer close(c.pumped)
	defer close(c.events)
	pending, ends := newPendingEvents(), endings{}
	for lifecycle != nil || reboots != nil {
		out, next := pending.head(c.events)
		select {
		case m, ok := <-lifecycle:
			if !ok {
				lifecycle = nil
				continue
			}
			id := uuid.UUID(m.Dom.UUID).String()
			started := golibvirt.DomainEventType(m.Event) == golibvirt.DomainEventStarted
			pending.add(hypervisor.Event{UUID: id, Ended: ends.of(id, m)}, started)
		case m, ok := <-reboots:
			if !ok {
				reboots = nil
				continue
			}
			if reboot, ok := m.(*golibvirt.DomainEventCallbackRebootMsg); ok {
				pending.add(hypervisor.Event{UUID: uuid.UUID(reboot.Msg.Dom.UUID).String(), Ended: hypervisor.Reset}, false)
			}
		case out <- next:
			pending.pop()
		}
	}
}

// endings turns lifecycle events into how a domain ended. It keeps, per domain, who shut it down, from the event that says so to
// the one that says that it has stopped.
type endings map[string]string

func (e endings) of(id string, m golibvirt.DomainEventLifecycleMsg) string {
	switch golibvirt.DomainEventType(m.Event) {
	case golibvirt.DomainEventShutdown:
		switch golibvirt.DomainEventShutdownDetailType(m.Detail) {
		case golibvirt.DomainEventShutdownGuest:
			e[id] = endedByGuest
		case golibvirt.DomainEventShutdownHost:
			e[id] = endedByHost
		default:
			e[id] = hypervisor.WhyShutdown
		}
		return e[id]
	case golibvirt.DomainEventCrashed:
		return hypervisor.WhyCrashed
	case golibvirt.DomainEventStopped:
		who := e[id]
		delete(e, id)
		if why := stoppedWhy[golibvirt.DomainEventStoppedDetailType(m.Detail)]; why != hypervisor.WhyShutdown || who == "" {
			return why
		}
		return who
	default:
		return ""
	}
}

var stoppedWhy = map[golibvirt.DomainEventStoppedDetailType]string{
	golibvirt.DomainEventStoppedShutdown:  hypervisor.WhyShutdown,
	golibvirt.DomainEventStoppedDestroyed: hypervisor.WhyDestroyed,
	golibvirt.DomainEventStoppedCrashed:   hypervisor.WhyCrashed,
	golibvirt.DomainEventStoppedMigrated:  hypervisor.WhyMigrated,
	golibvirt.DomainEventStoppedSaved:     hypervisor.WhySaved,
	// QEMU is gone without having said why. (A start that fails sends no event.)
	golibvirt.DomainEventStoppedFailed:       hypervisor.WhyCrashed,
	golibvirt.DomainEventStoppedFromSnapshot: "from-snapshot",
}

// pendingEvents is a queue with one place per domain.
type pendingEvents struct {
	order []string
	byID  map[string]hypervisor.Event
}

func newPendingEvents() *pendingEvents { return &pendingEvents{byID: map[string]hypervisor.Event{}} }

// add merges an event with the one that waits. How the domain ended stays known, unless it has started anew since; a reset is the least
// that can be told.
func (p *pendingEvents) add(ev hypervisor.Event, started bool) {
	waiting, found := p.byID[ev.UUID]
	if !found {
		p.order = append(p.order, ev.UUID)
	}
	if !started && (ev.Ended == "" || ev.Ended == hypervisor.Reset && waiting.Ended != "") {
		ev.Ended = waiting.Ended
	}
	p.byID[ev.UUID] = ev
}

// head is where to send what; a nil channel when nothing waits.
func (p *pendingEvents) head(out chan<- hypervisor.Event) (chan<- hypervisor.Event, hypervisor.Event) {
	if len(p.order) == 0 {
		return nil, hypervisor.Event{}
	}
	return out, p.byID[p.order[0]]
}

// pop forgets the head, which was sent.
func (p *pendingEvents) pop() {
	delete(p.byID, p.order[0])
	p.order = p.order[1:]
}
