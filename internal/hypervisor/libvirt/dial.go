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
