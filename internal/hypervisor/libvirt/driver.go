package libvirt

import (
	"context"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// Driver reaches hosts through libvirt. The zero value is ready for use.
type Driver struct{}

var _ hypervisor.Driver = Driver{}

// Connect implements hypervisor.Driver. The URI is one of libvirt's: qemu:///system, qemu+unix:///system?socket=PATH,
// qemu+tcp://HOST/system, qemu+tls://HOST/system, qemu+ssh://USER@HOST/system. When Connect returns, events are being
// collected: whatever happens to a domain from then on is told.
func (Driver) Connect(ctx context.Context, uri string) (hypervisor.Conn, error) {
	t, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	c := newConn(t)
	if err := c.open(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}
