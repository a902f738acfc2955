package libvirt

import (
	"context"
	"net"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// link is one stream of bytes to a host's libvirtd with a protocol client on it. It is used once: a client object of go-libvirt
// that has lost its stream must not be connected again.
type link struct {
	virt   *golibvirt.Libvirt
	stream net.Conn
}

// openLink dials and greets libvirtd, bounded by ctx. From then on the first failed read or write is told to lost.
func openLink(ctx context.Context, t *target, lost func(error)) (*link, error) {
	raw, err := t.dial(ctx)
	if err != nil {
		return nil, t.explained(err)
	}
	// The client leaves a blocked read or write only when its stream is closed, so that is how ctx ends it.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	stream := &watchedStream{Conn: raw, lost: lost}
	virt := golibvirt.NewWithDialer(dialers.NewAlreadyConnected(stream))
	err = virt.ConnectToURI(t.driver)
	if err == nil {
		// ConnectToURI writes a field last that the client's own goroutine reads when the stream breaks. A call, which takes
		// the client's lock, puts the two in order.
		_, err = virt.ConnectGetLibVersion()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = raw.Close()
		return nil, t.explainedGreeting(err)
	}
	return &link{virt: virt, stream: stream}, nil
}

// watchedStream tells when the stream broke, which the protocol client keeps to itself.
type watchedStream struct {
	net.Conn
	lost func(error)
}

// Read implements net.Conn.
func (s *watchedStream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if err != nil {
		s.lost(err)
	}
	return n, err
}

// Write implements net.Conn.
func (s *watchedStream) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	if err != nil {
		s.lost(err)
	}
	return n, err
}
