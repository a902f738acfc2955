package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

// An etcd that wants certificates gets ours and shows its own.
func TestDialTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, roots := selfSigned(t, dir)
	listen := url.URL{Scheme: "https", Host: "127.0.0.1:0"}
	server := serve(t, func(c *embed.Config) {
		large(c)
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{listen}, []url.URL{listen}
		c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = filepath.Join(dir, "cert.pem"), true
	})
	endpoints := []string{"https://" + server.Clients[0].Addr().String()}
	st, err := etcd.Dial(t.Context(), etcd.DialOptions{Endpoints: endpoints, TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, st)
	mustTxn(t, st, put("/k", 1))

	for name, c := range map[string]*tls.Config{
		"without a certificate":           {RootCAs: roots},
		"that does not know the server's": {Certificates: []tls.Certificate{cert}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if st, err := etcd.Dial(ctx, etcd.DialOptions{Endpoints: endpoints, TLS: c}); err == nil {
			t.Errorf("a client %s was let in", name)
			mustClose(t, st)
		}
		cancel()
	}
}

// selfSigned writes cert.pem and key.pem, good for both sides.
func selfSigned(t *testing.T, dir string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	for name, b := range map[string][]byte{"cert.pem": certPEM, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return cert, roots
}
