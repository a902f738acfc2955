package libvirt

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	golibvirt "github.com/digitalocean/go-libvirt"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// unreached is why a host could not be reached, in the words of whoever has to mend it: what is wrong, what the system said, and
// what to do.
type unreached struct {
	what, next string
	err        error
}

// Error implements error.
func (u *unreached) Error() string {
	return fmt.Sprintf("%s (%s): %s", u.what, innermost(u.err), u.next)
}

// Unwrap gives what the system said.
func (u *unreached) Unwrap() error { return u.err }

// innermost leaves out what the outer errors add to what the system said: "dial tcp", addresses, what the text says anyway.
func innermost(err error) string {
	var path *fs.PathError
	var number syscall.Errno
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &path):
		return path.Error()
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &dns):
		return dns.Err
	case errors.Is(err, io.EOF), errors.Is(err, golibvirt.ErrInterrupted):
		return "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	}
	return err.Error()
}

// explained says what is wrong when the stream to the host could not be opened. What is not known here stays as it is.
func (t *target) explained(err error) error {
	var known *unreached
	if errors.As(err, &known) {
		return known
	}
	what, next := t.diagnose(err)
	if what == "" {
		return err
	}
	return &unreached{what: what, next: next, err: err}
}

func (t *target) diagnose(err error) (what, next string) {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Sprintf("the name %s is not known here", t.host),
			"correct the host's URI, or make the name known to the machine that runs Holdfast (DNS, /etc/hosts)"
	}
	if errors.As(err, &dns) {
		return fmt.Sprintf("the name %s cannot be looked up", t.host), "see that the machine that runs Holdfast reaches its name server"
	}
	if t.transport == "unix" {
		return t.diagnoseSocket(err)
	}
	if what, next := t.diagnoseTLS(err); what != "" {
		return what, next
	}
	if what, next := t.diagnoseSSH(err); what != "" {
		return what, next
	}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens at " + t.address(), "see that " + listeners[t.transport] + " runs on the host, and that the URI names its port"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no way leads to " + t.address(), "see that the host is on and its address right, and look at the network in between"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return t.address() + " does not answer in time", "see that the host is on and " + listeners[t.transport] +
			" not hung, and that no firewall is in between"
	case hangsUp(err):
		return t.address() + " hangs up at once", "see that " + listeners[t.transport] + " listens there, that it has not too many clients " +
			"(max_clients), and what its log says"
	}
	return "", ""
}

// hangsUp recognises a stream that the other side has ended.
func hangsUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, golibvirt.ErrInterrupted)
}

// listeners are who must listen on a host, by transport.
var listeners = map[string]string{
	"tcp": "libvirtd with a TCP socket (libvirtd-tcp.socket)",
	"tls": "libvirtd with a TLS socket (libvirtd-tls.socket)",
	"ssh": "sshd",
}

func (t *target) address() string {
	return net.JoinHostPort(t.host, cmp.Or(t.port, map[string]string{"tcp": tcpPort, "tls": tlsPort, "ssh": sshPort}[t.transport]))
}

func (t *target) diagnoseSocket(err error) (what, next string) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "the server may not open libvirt's socket " + t.socketPath(),
			"run the server as root, or as a user of the group libvirt"
	case errors.Is(err, fs.ErrNotExist):
		return "libvirt's socket " + t.socketPath() + " is not there", "install and start libvirtd on this machine, or name its socket with ?socket=PATH"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens on libvirt's socket " + t.socketPath(), "start libvirtd on this machine (systemctl start libvirtd.socket)"
	case errors.Is(err, context.DeadlineExceeded):
		return "libvirtd on this machine does not answer in time", "see whether it hangs (systemctl status libvirtd)"
	case hangsUp(err):
		return "libvirtd on this machine hangs up at once", "see that it has not too many clients (max_clients), and what its log says"
	}
	return "", ""
}

func (t *target) diagnoseTLS(err error) (what, next string) {
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		remote   *net.OpError
		record   tls.RecordHeaderError
		missing  *pkiError
	)
	files := t.pkiFiles()
	switch {
	case errors.As(err, &missing):
		return "the server's own certificate for TLS with " + t.host + " cannot be used",
			"make one, as for virsh, or name the directory that has it with ?pkipath=DIR"
	case errors.As(err, &unknown):
		return "the host's certificate is signed by an authority that is not in " + files.ca, "put the authority's certificate there, or give the host one " +
			"that is signed by yours"
	case errors.As(err, &hostname):
		return "the host's certificate is not for the name " + t.host, "use a name in the URI that the certificate has, or give the host one for this name"
	case errors.As(err, &invalid):
		return "the host's certificate is not valid", "look at its dates and at the clocks of both machines, and renew it"
	case errors.As(err, &remote) && remote.Op == "remote error": // how crypto/tls tells of the other side's alert
		return "the host does not accept our certificate " + files.cert, "see that its authority is in the host's cacert.pem, and that it has not expired"
	case errors.Is(err, errNotAllowed):
		return "libvirtd does not let us in", "see tls_allowed_dn_list in the host's libvirtd.conf"
	case errors.As(err, &record):
		return "who listens at " + t.address() + " does not speak TLS", "use the port of libvirtd's TLS socket, or qemu+tcp:// if plain TCP is what you want"
	}
	return "", ""
}

func (t *target) diagnoseSSH(err error) (what, next string) {
	var (
		key     *knownhosts.KeyError
		channel *ssh.OpenChannelError
	)
	known := cmp.Or(t.query.Get("known_hosts"), "~/.ssh/known_hosts")
	switch {
	case errors.As(err, &key) && len(key.Want) == 0:
		return "the key of " + t.host + " is not in " + known, "connect once by hand (ssh " + t.host + "), compare the key with the host's, and accept it"
	case errors.As(err, &key):
		return t.host + " shows another key than the one in " + known,
			"find out why before anything else; if the host was installed anew, remove the old key (ssh-keygen -R " + t.host + ") and accept the new one"
	case errors.As(err, &channel):
		return "sshd on " + t.host + " does not open libvirt's socket", "see that libvirtd runs there, that " + orThisUser(t.user) +
			" may open the socket (group libvirt), and that sshd allows AllowStreamLocalForwarding"
	case err != nil && strings.Contains(err.Error(), "ssh: unable to authenticate"): // the package has no error of its own for this
		return "sshd on " + t.host + " does not let " + orThisUser(t.user) + " in", "put the server's public key into that user's authorized_keys, " +
			"or name another key with ?keyfile=PATH"
	}
	return "", ""
}

func orThisUser(user string) string { return cmp.Or(user, "the server's user") }

// explainedGreeting is explained for a stream that was opened, and on which libvirtd then did not answer as it should.
func (t *target) explainedGreeting(err error) error {
	if errors.Is(err, syscall.EINVAL) { // how the client says that the stream had ended before it asked
		err = golibvirt.ErrInterrupted
	}
	var e golibvirt.Error
	if !errors.As(err, &e) {
		return t.explained(fmt.Errorf("greet libvirtd: %w", err))
	}
	if golibvirt.ErrorNumber(e.Code) == golibvirt.ErrAuthFailed || golibvirt.ErrorNumber(e.Code) == golibvirt.ErrAuthUnavailable ||
		strings.Contains(e.Message, "authentication required") {
		return &unreached{what: "libvirtd wants us to authenticate in a way that is not supported", err: err,
			next: "use qemu+tls:// or qemu+ssh://, or let it ask for nothing on this socket (auth_tcp, auth_unix_rw in libvirtd.conf)"}
	}
	return fmt.Errorf("libvirtd answers, and refuses: %w", err)
}
