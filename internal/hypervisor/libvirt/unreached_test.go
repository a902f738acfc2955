package libvirt

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
)

func TestConnectSaysWhatIsWrong(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := gone.Addr().String()
	_ = gone.Close()
	hangingUp := filepath.Join(t.TempDir(), "sock")
	listen(t, "unix", hangingUp, func(net.Conn) {})
	hangsUp := listen(t, "tcp", "127.0.0.1:0", func(net.Conn) {}).Addr().String()
	socket := filepath.Join(t.TempDir(), "sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	for uri, want := range map[string]string{
		"qemu+tcp://" + address + "/system": "nobody listens at " + address + " (connection refused): see that libvirtd with a TCP socket " +
			"(libvirtd-tcp.socket) runs on the host, and that the URI names its port",
		"qemu+tcp://" + hangsUp + "/system":       hangsUp + " hangs up at once",
		"qemu+unix:///system?socket=" + hangingUp: "libvirtd on this machine hangs up at once",
		"qemu+unix:///system?socket=" + socket: "nobody listens on libvirt's socket " + socket +
			" (connection refused): start libvirtd on this machine (systemctl start libvirtd.socket)",
		"qemu+unix:///system?socket=" + socket + "x": "libvirt's socket " + socket + "x is not there (no such file or directory): " +
			"install and start libvirtd on this machine, or name its socket with ?socket=PATH",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := Driver{}.Connect(ctx, uri)
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", uri, err, want)
		}
	}
}

// What cannot be had for a test on any machine.
func TestExplained(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for _, tc := range []struct {
		uri  string
		err  error
		want string
	}{
		{"qemu+tcp://h/system", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h", Server: "127.0.0.1:53", IsNotFound: true}},
			"the name h is not known here (no such host): correct the host's URI, or make the name known to the machine that runs Holdfast (DNS, /etc/hosts)"},
		{"qemu+ssh://h/system", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "h", IsTemporary: true}},
			"the name h cannot be looked up (server misbehaving): see that the machine that runs Holdfast reaches its name server"},
		{"qemu+tls://h/system", dial(syscall.EHOSTUNREACH),
			"no way leads to h:16514 (no route to host): see that the host is on and its address right, and look at the network in between"},
		{"qemu+ssh://h/system", dial(context.DeadlineExceeded),
			"h:22 does not answer in time (timed out): see that the host is on and sshd not hung, and that no firewall is in between"},
		{"qemu+unix:///system?socket=/s", dial(syscall.EACCES),
			"the server may not open libvirt's socket /s (permission denied): run the server as root, or as a user of the group libvirt"},
		{"qemu+tls://h/system", x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"g"}}, Host: "h"},
			"the host's certificate is not for the name h (x509: certificate is valid for g, not h): use a name in the URI that the certificate has, " +
				"or give the host one for this name"},
		{"qemu+tcp://h/system", io.ErrShortWrite, "short write"},
	} {
		target, err := parseURI(tc.uri)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.explained(tc.err); got.Error() != tc.want || !errors.Is(got, tc.err) {
			t.Errorf("%s: %v, want %s", tc.uri, got, tc.want)
		}
	}
}

func TestExplainedGreeting(t *testing.T) {
	target, err := parseURI("qemu+tcp://h/system")
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"does not answer in time (timed out): ":          context.DeadlineExceeded,
		"use qemu+tls:// or qemu+ssh://":                 golibvirt.Error{Code: uint32(golibvirt.ErrAuthFailed), Message: "authentication failed"},
		"hangs up at once (the connection was closed): ": golibvirt.ErrInterrupted,
		"libvirtd answers, and refuses: no":              golibvirt.Error{Code: uint32(golibvirt.ErrNoConnect), Message: "no"},
		"greet libvirtd: gremlins":                       errors.New("gremlins"),
	} {
		if got := target.explainedGreeting(err); !strings.Contains(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%v: %v, want %s", err, got, want)
		}
	}
}
