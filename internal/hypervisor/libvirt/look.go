package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// looksAtOnce is how many domains List looks at side by side. libvirtd serves 5 requests of a client at a time; a few more keep
// the line busy.
const looksAtOnce = 8

// List implements hypervisor.Conn. One call brings every domain with its state; identity, and the room of active ones, cost two
// short calls a domain, which need no lock that a busy guest could hold. 1,000 domains take a fraction of a second, so nothing
// is cached: a cache that is wrong once shows a running guest under another instance's id.
func (c *conn) List(ctx context.Context) ([]hypervisor.Domain, error) {
	var records []golibvirt.DomainStatsRecord
	err := c.ask(ctx, "list domains", func(v *golibvirt.Libvirt) (err error) {
		records, err = v.ConnectGetAllDomainStats(nil, uint32(golibvirt.DomainStatsState), 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	seen := make([]*hypervisor.Domain, len(records))
	errs := make([]error, len(records))
	var all sync.WaitGroup
	places := make(chan struct{}, looksAtOnce)
	for i, r := range records {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			state, reason := statsState(r.Params)
			seen[i], _, errs[i] = c.complete(ctx, r.Dom, state, reason)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // the others say the same of other domains
		}
	}
	domains := make([]hypervisor.Domain, 0, len(seen))
	for _, d := range seen {
		if d != nil {
			domains = append(domains, *d)
		}
	}
	return domains, nil
}

// statsState finds state and reason among the statistics of a domain.
func statsState(params []golibvirt.TypedParam) (state, reason int32) {
	for _, p := range params {
		if n, ok := p.Value.I.(int32); ok {
			switch p.Field {
			case golibvirt.DomainStatsStateState:
				state = n
			case golibvirt.DomainStatsStateReason:
				reason = n
			}
		}
	}
	return state, reason
}

// Look implements hypervisor.Conn.
func (c *conn) Look(ctx context.Context, id string) (hypervisor.Domain, bool, error) {
	d, _, err := c.find(ctx, id)
	if d == nil || err != nil {
		return hypervisor.Domain{}, false, err
	}
	return *d, true, nil
}

// find looks at one domain and reads its identity in full; nil when the host has none with that UUID.
func (c *conn) find(ctx context.Context, id string) (*hypervisor.Domain, identity, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, identity{}, fmt.Errorf("look at domain %q: %w", id, err)
	}
	op := "look at domain " + id
	if parsed == uuid.Nil {
		op = "ask for a sign of life" // nobody has this UUID; who asks for it wants to know whether the host answers
	}
	var dom golibvirt.Domain
	var state, reason int32
	err = c.ask(ctx, op, func(v *golibvirt.Libvirt) (err error) {
		if dom, err = v.DomainLookupByUUID(golibvirt.UUID(parsed)); err != nil {
			return err
		}
		state, reason, err = v.DomainGetState(dom, 0)
		return err
	})
	if errors.Is(err, hypervisor.ErrNotFound) {
		return nil, identity{}, nil
	}
	if err != nil {
		return nil, identity{}, err
	}
	return c.complete(ctx, dom, state, reason)
}

// complete adds identity and room to a domain's state; nil when the domain has gone meanwhile. With flags 0 libvirt gives the
// metadata of the running instance where there is one, else of the definition. State and identity come from two calls; they
// belong together because only Define changes the identity, and only of an inactive domain.
func (c *conn) complete(ctx context.Context, dom golibvirt.Domain, state, reason int32) (*hypervisor.Domain, identity, error) {
	d := &hypervisor.Domain{UUID: uuid.UUID(dom.UUID).String(), Name: dom.Name}
	d.State, d.Why = stateOf(state, reason)
	var id identity
	err := c.ask(ctx, "look at domain "+dom.Name, func(v *golibvirt.Libvirt) error {
		element, err := v.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{namespace}, 0)
		switch {
		case hasCode(err, golibvirt.ErrNoDomainMetadata):
		case err != nil:
			return err
		default:
			id = parseIdentity(element)
		}
		if d.State == hypervisor.DomainInactive {
			return nil
		}
		// The most the guest may have, not what a balloon leaves it now: it may take the rest back at any time.
		_, maxKiB, _, vcpus, _, err := v.DomainGetInfo(dom)
		d.Memory, d.VCPUs = v1.Quantity(maxKiB)<<10, int(vcpus)
		return err
	})
	if errors.Is(err, hypervisor.ErrNotFound) {
		return nil, identity{}, nil
	}
	if err != nil {
		return nil, identity{}, err
	}
	d.ClusterUID, d.VMUID, d.InstanceID = id.ClusterUID, id.VMUID, id.InstanceID
	return d, id, nil
}
