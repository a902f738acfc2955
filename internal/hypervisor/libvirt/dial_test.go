package libvirt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// greeting is what the servers of these tests send first, in libvirtd's place.
const greeting = "hello"

func dialURI(t *testing.T, uri string) (net.Conn, error) {
	t.Helper()
	target, err := parseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := target.dial(ctx)
	if err != nil {
		return nil, target.explained(err)
	}
	return conn, nil
}

// expectRefusal wants the text of an error to say all of it.
func expectRefusal(t *testing.T, what string, conn net.Conn, err error, says ...string) {
	t.Helper()
	if err == nil {
		_ = conn.Close()
		t.Errorf("%s: the connection was made", what)
		return
	}
	for _, say := range says {
		if strings.Count(err.Error(), say) != 1 {
			t.Errorf("%s: the text does not say %q, or not once: %v", what, say, err)
		}
	}
}

// expectGreeting reads what the server says through the whole transport.
func expectGreeting(t *testing.T, conn net.Conn, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := make([]byte, len(greeting))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != greeting {
		t.Errorf("read %q (error %v), want %q", got, err, greeting)
	}
}

func listen(t *testing.T, network, address string, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l
}

func greet(conn net.Conn) { _, _ = io.WriteString(conn, greeting) }

func TestDialUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	listen(t, "unix", path, greet)
	conn, err := dialURI(t, "qemu+unix:///system?socket="+path)
	expectGreeting(t, conn, err)
}

// TestConnectIsBounded: a peer that takes the connection and says nothing is given up when the context ends, without a trace. So is what
// does not answer on this machine, and it is not the host that is blamed for it.
func TestConnectIsBounded(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	bounded := func(what, transport, parameters, says string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := Driver{}.Connect(ctx, "qemu+"+transport+"://"+silent.Addr().String()+"/system"+parameters)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: got error %v, want the deadline's, in words that begin with %q", what, err, says)
		}
	}
	for _, transport := range []string{"tcp", "tls", "ssh"} {
		bounded(transport, transport, credentials(t, transport), silent.Addr().String()+" does not answer in time")
	}

	fifo := filepath.Join(t.TempDir(), "fifo") // reading it is like reading from a file system that hangs
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	key, _ := newKey(t)
	pki := newAuthority(t).dir
	ca := filepath.Join(pki, "cacert.pem")
	if err := errors.Join(os.Remove(ca), os.Symlink(fifo, ca)); err != nil {
		t.Fatal(err)
	}
	bounded("known_hosts", "ssh", "?keyfile="+key+"&known_hosts="+fifo, "SSH's files (known_hosts and keys) cannot be read in time")
	bounded("key", "ssh", "?keyfile="+fifo+"&known_hosts="+os.DevNull, "SSH's files (known_hosts and keys) cannot be read in time")
	bounded("certificates", "tls", "?pkipath="+pki, "the certificates for TLS cannot be read in time")
	release, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = errors.Join(os.Remove(fifo), release.Close()) // a reader that comes only now finds nothing

	agentSocket := filepath.Join(t.TempDir(), "agent")
	silentAgent, err := net.Listen("unix", agentSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer silentAgent.Close()
	t.Setenv("SSH_AUTH_SOCK", agentSocket)
	bounded("agent", "ssh", credentials(t, "ssh"), "the SSH agent at "+agentSocket)
}

// An agent that lists its keys and then keeps the caller waiting for a signature, as one does that asks somebody to confirm.
func TestSigningIsBounded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("sign", func(t *testing.T) { // so that its cleanups have run before leaks are looked for
		_, key := newKey(t)
		_, hostKey := newKey(t)
		address := sshServer(t, hostKey, key.PublicKey())
		known := filepath.Join(t.TempDir(), "known_hosts")
		line := knownhosts.Line([]string{knownhosts.Normalize(address)}, hostKey.PublicKey())
		if err := os.WriteFile(known, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		agentSocket := filepath.Join(t.TempDir(), "agent")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		givenUp := make(chan struct{})
		agent := &hesitantAgent{key: key.PublicKey(), asked: func() { cancel(context.DeadlineExceeded) }, waits: givenUp}
		listen(t, "unix", agentSocket, agent.serve)
		t.Setenv("SSH_AUTH_SOCK", agentSocket)
		_, err := Driver{}.Connect(ctx, "qemu+ssh://"+address+"/system?known_hosts="+known)
		close(givenUp)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "the SSH agent at "+agentSocket) {
			t.Errorf("got error %v, want the deadline's, about the agent", err)
		}
	})
}

// hesitantAgent is an SSH agent that lists one key, and waits with signing for too long.
type hesitantAgent struct {
	agent.Agent
	key   ssh.PublicKey
	asked func() // called when it is to sign
	waits <-chan struct{}
}

func (a *hesitantAgent) serve(conn net.Conn) { _ = agent.ServeAgent(a, conn) }

func (a *hesitantAgent) List() ([]*agent.Key, error) {
	return []*agent.Key{{Format: a.key.Type(), Blob: a.key.Marshal()}}, nil
}

func (a *hesitantAgent) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	a.asked()
	<-a.waits
	return nil, errors.New("too late")
}

// credentials are parameters that let a transport begin to talk.
func credentials(t *testing.T, transport string) string {
	switch transport {
	case "tls":
		return "?pkipath=" + newAuthority(t).dir
	case "ssh":
		key, _ := newKey(t)
		return "?keyfile=" + key + "&known_hosts=" + os.DevNull
	default:
		return ""
	}
}

// authority is a certificate authority with certificates for localhost, in the layout of ?pkipath=.
type authority struct {
	dir  string
	pool *x509.CertPool
	pair tls.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// One certificate is authority, server and client at once.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "cacert.pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "clientcert.pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "clientkey.pem"), "PRIVATE KEY", keyDER)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return authority{dir: dir, pool: pool, pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDialTLS(t *testing.T) {
	a := newAuthority(t)
	server := func(verdict string) string {
		l := listen(t, "tcp", "127.0.0.1:0", func(raw net.Conn) {
			conn := tls.Server(raw, &tls.Config{
				Certificates: []tls.Certificate{a.pair}, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert,
			})
			_, _ = io.WriteString(conn, verdict+greeting)
		})
		return "qemu+tls://" + l.Addr().String() + "/system?pkipath="
	}
	accepting := server("\x01")
	conn, err := dialURI(t, accepting+a.dir)
	expectGreeting(t, conn, err)

	other, none := newAuthority(t), t.TempDir()
	mixed := t.TempDir() // knows the server, and shows a certificate that the server does not know
	for name, dir := range map[string]string{"cacert.pem": a.dir, "clientcert.pem": other.dir, "clientkey.pem": other.dir} {
		if err := os.Symlink(filepath.Join(dir, name), filepath.Join(mixed, name)); err != nil {
			t.Fatal(err)
		}
	}
	plain := listen(t, "tcp", "127.0.0.1:0", greet)
	for what, tc := range map[string]struct {
		uri  string
		says []string
	}{
		"a refusal": {server("\x00") + a.dir, []string{"libvirtd does not let us in", "tls_allowed_dn_list"}},
		"another authority's server": {accepting + other.dir, []string{"not in " + other.dir + "/cacert.pem", "certificate signed by unknown authority",
			"put the authority's certificate there"}},
		"no certificates": {accepting + none, []string{none + "/clientcert.pem: no such file", "?pkipath=DIR"}},
		"a certificate that the server does not know": {accepting + mixed, []string{"does not accept our certificate " + mixed, "the host's cacert.pem"}},
		"a server without TLS": {"qemu+tls://" + plain.Addr().String() + "/system?pkipath=" + a.dir,
			[]string{"at " + plain.Addr().String() + " does not speak TLS", "qemu+tcp://"}},
	} {
		conn, err := dialURI(t, tc.uri)
		expectRefusal(t, what, conn, err, tc.says...)
	}
}

// newKey writes a private key and returns its path and signer.
func newKey(t *testing.T) (string, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return path, signer
}

// sshServer accepts one user key and greets whoever opens a unix socket through it.
func sshServer(t *testing.T, hostKey ssh.Signer, user ssh.PublicKey) string {
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(user.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(hostKey)
	l := listen(t, "tcp", "127.0.0.1:0", func(raw net.Conn) {
		_, channels, requests, err := ssh.NewServerConn(raw, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for channel := range channels {
			if channel.ChannelType() != "direct-streamlocal@openssh.com" || !strings.Contains(string(channel.ExtraData()), "/run/x") {
				_ = channel.Reject(ssh.UnknownChannelType, "only the libvirt socket")
				continue
			}
			stream, requests, err := channel.Accept()
			if err != nil {
				return
			}
			go ssh.DiscardRequests(requests)
			_, _ = io.WriteString(stream, greeting)
		}
	})
	return l.Addr().String()
}

func TestDialSSH(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("ssh", func(t *testing.T) {
		keyFile, key := newKey(t)
		otherFile, _ := newKey(t)
		_, hostKey := newKey(t)
		address := sshServer(t, hostKey, key.PublicKey())
		known := filepath.Join(t.TempDir(), "known_hosts")
		line := knownhosts.Line([]string{knownhosts.Normalize(address)}, hostKey.PublicKey())
		if err := os.WriteFile(known, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		uri := func(socket, key, known string) string {
			return "qemu+ssh://root@" + address + "/system?socket=" + socket + "&keyfile=" + key + "&known_hosts=" + known
		}
		conn, err := dialURI(t, uri("/run/x", keyFile, known))
		expectGreeting(t, conn, err)

		_, wrongKey := newKey(t)
		wrong := filepath.Join(t.TempDir(), "known_hosts")
		line = knownhosts.Line([]string{knownhosts.Normalize(address)}, wrongKey.PublicKey())
		if err := os.WriteFile(wrong, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for what, tc := range map[string]struct {
			uri  string
			says []string
		}{
			"a host that nobody vouched for": {uri("/run/x", keyFile, os.DevNull), []string{"is not in " + os.DevNull, "compare the key"}},
			"a host with another key":        {uri("/run/x", keyFile, wrong), []string{"another key than the one in " + wrong, "ssh-keygen -R"}},
			"a key that the host refuses":    {uri("/run/x", otherFile, known), []string{"does not let root in", "authorized_keys"}},
			"a socket that is not there":     {uri("/run/y", keyFile, known), []string{"does not open libvirt's socket", "only the libvirt socket", "AllowStreamLocalForwarding"}},
			"a key file that is not there":   {uri("/run/x", "/nowhere", known), []string{"load key: open /nowhere: no such file"}},
		} {
			conn, err := dialURI(t, tc.uri)
			expectRefusal(t, what, conn, err, tc.says...)
		}
	})
}
