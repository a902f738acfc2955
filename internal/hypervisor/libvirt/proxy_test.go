package libvirt

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// The header of libvirt's protocol: length, program, version, procedure and type, four bytes each, and more (src/rpc/virnetprotocol.x).
const (
	procedureAt  = 12
	typeAt       = 16
	headerLength = 28
)

// packetKind tells what a packet is about.
type packetKind struct{ procedure, kind uint32 }

// What the tests wait for.
var (
	startRequest = packetKind{196, 0} // a call of REMOTE_PROC_DOMAIN_CREATE_WITH_FLAGS
	uploadedData = packetKind{208, 3} // a part of the stream of REMOTE_PROC_STORAGE_VOL_UPLOAD
)

// proxy stands between the driver and a host, so that tests can cut connections and see requests go by.
type proxy struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	streams []net.Conn
	waiting map[packetKind]func() // each called once, before the next such packet is passed on
	all     sync.WaitGroup
}

// newProxy stands before the libvirtd that listens at that address, until the test ends.
func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: address, waiting: map[packetKind]func(){}}
	p.all.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) uri() string { return "qemu+tcp://" + p.listener.Addr().String() + "/system" }

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.streams = append(p.streams, client, server)
		p.mu.Unlock()
		both := func() { _, _ = client.Close(), server.Close() }
		p.all.Go(func() { defer both(); p.requests(client, server) })
		p.all.Go(func() { defer both(); _, _ = io.Copy(client, server) })
	}
}

// requests passes on what the client asks, packet by packet.
func (p *proxy) requests(from io.Reader, to io.Writer) {
	for {
		packet := make([]byte, headerLength)
		if _, err := io.ReadFull(from, packet); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint32(packet))-headerLength)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if before := p.take(packetKind{binary.BigEndian.Uint32(packet[procedureAt:]), binary.BigEndian.Uint32(packet[typeAt:])}); before != nil {
			before()
		}
		if _, err := to.Write(append(packet, body...)); err != nil {
			return
		}
	}
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.streams {
		_ = s.Close()
	}
	p.streams = nil
}

// before runs f when the next such packet goes by.
func (p *proxy) before(what packetKind, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[what] = f
}

// take is what still waits for such a packet, which it does no longer.
func (p *proxy) take(what packetKind) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.waiting[what]
	delete(p.waiting, what)
	return f
}
