package libvirt

import (
	"cmp"
	"context"
	"net"
	"os"
	"time"
)

// keepAlive finds a host that is gone without a word within 25 s, on links on which nothing is being asked.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}

// Where libvirt listens.
const (
	tcpPort = "16509"
	tlsPort = "16514"
	sshPort = "22"

	monolithicSocket = "/run/libvirt/libvirt-sock"   // libvirtd, or virtproxyd in its place
	modularSocket    = "/run/libvirt/virtqemud-sock" // virtqemud alone
)

// dial opens the stream of bytes to libvirtd, bounded by ctx.
func (t *target) dial(ctx context.Context) (net.Conn, error) {
	switch t.transport {
	case "unix":
		return (&net.Dialer{}).DialContext(ctx, "unix", t.socketPath())
	case "tls":
		return t.dialTLS(ctx)
	case "ssh":
		return t.dialSSH(ctx)
	default:
		return t.dialTCP(ctx, tcpPort)
	}
}

func (t *target) dialTCP(ctx context.Context, defaultPort string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(t.host, cmp.Or(t.port, defaultPort)))
}

// socketPath is the local libvirt's socket.
func (t *target) socketPath() string {
	if path := t.query.Get("socket"); path != "" {
		return path
	}
	if _, err := os.Stat(monolithicSocket); os.IsNotExist(err) {
		if _, err := os.Stat(modularSocket); err == nil {
			return modularSocket
		}
	}
	return monolithicSocket
}

// readFiles reads files of this machine that a connection needs. One on a file system that hangs holds its reader for as long as that
// hangs, and nothing ends it: then the reader is left behind when ctx ends.
func readFiles[T any](ctx context.Context, what string, read func() (T, error)) (T, error) {
	type answer struct {
		content T
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		content, err := read()
		done <- answer{content, err}
	}()
	select {
	case a := <-done:
		return a.content, a.err
	case <-ctx.Done():
		var none T
		return none, &unreached{what: what + " cannot be read in time", err: context.Cause(ctx),
			next: "see whether the file system hangs that they are on, on the machine that runs Holdfast"}
	}
}
