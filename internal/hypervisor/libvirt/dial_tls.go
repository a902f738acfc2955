package libvirt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// pki are the files that libvirt's own clients use too.
type pki struct{ ca, cert, key string }

// pkiFiles are in one directory when the URI names one, else where libvirt keeps them.
func (t *target) pkiFiles() pki {
	if dir := t.query.Get("pkipath"); dir != "" {
		return pki{filepath.Join(dir, "cacert.pem"), filepath.Join(dir, "clientcert.pem"), filepath.Join(dir, "clientkey.pem")}
	}
	return pki{"/etc/pki/CA/cacert.pem", "/etc/pki/libvirt/clientcert.pem", "/etc/pki/libvirt/private/clientkey.pem"}
}

// pkiError: one of the files cannot be used.
type pkiError struct{ error }

// Unwrap gives the reason.
func (e *pkiError) Unwrap() error { return e.error }

func (p pki) config(host string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, &pkiError{err}
	}
	pem, err := os.ReadFile(p.ca)
	if err != nil {
		return nil, &pkiError{err}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, &pkiError{fmt.Errorf("%s holds no certificate", p.ca)}
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}, nil
}

// errNotAllowed: libvirtd knows who we are, and has us not on its list.
var errNotAllowed = errors.New("our certificate or address is not allowed")

// dialTLS connects with mutual TLS. After the handshake libvirtd sends one byte, which says whether it accepts our certificate.
func (t *target) dialTLS(ctx context.Context) (_ net.Conn, err error) {
	config, err := readFiles(ctx, "the certificates for TLS", func() (*tls.Config, error) { return t.pkiFiles().config(t.host) })
	if err != nil {
		return nil, err
	}
	raw, err := t.dialTCP(ctx, tlsPort)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn := tls.Client(raw, config)
	verdict := []byte{0}
	if err = conn.HandshakeContext(ctx); err == nil {
		_, err = conn.Read(verdict)
	}
	if err == nil && verdict[0] != 1 {
		err = errNotAllowed
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &abruptConn{Conn: conn, raw: raw}, nil
}

// abruptConn closes the stream under a session at once. The session's own Close says goodbye first, which a frozen host can
// keep waiting.
type abruptConn struct {
	net.Conn
	raw net.Conn
}

// Close implements net.Conn.
func (c *abruptConn) Close() error { return c.raw.Close() }
