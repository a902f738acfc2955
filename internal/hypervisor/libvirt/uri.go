package libvirt

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// target is where a libvirt URI leads: how to reach the daemon, and what to ask it for.
type target struct {
	transport string // unix, tcp, tls or ssh
	host      string
	port      string // empty: the transport's own
	user      string
	query     url.Values
	driver    golibvirt.ConnectURI // what libvirtd is asked to open, e.g. qemu:///system
}

// parameters are what each transport reads of a URI's query. Others are refused rather than silently left unused.
var parameters = map[string][]string{
	"unix": {"socket"},
	"tcp":  {},
	"tls":  {"pkipath"},
	"ssh":  {"socket", "keyfile", "known_hosts"},
}

func parseURI(uri string) (*target, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("libvirt URI %q: %w", uri, err)
	}
	refuse := func(format string, args ...any) (*target, error) {
		return nil, fmt.Errorf("libvirt URI %q: "+format, append([]any{uri}, args...)...)
	}
	scheme, transport, explicit := strings.Cut(u.Scheme, "+")
	if scheme != "qemu" {
		return refuse("it must begin with qemu, e.g. qemu+tls://host1/system")
	}
	if !explicit {
		// As in libvirt: a URI without a host is local, one with a host goes over TLS.
		transport = "unix"
		if u.Host != "" {
			transport = "tls"
		}
	}
	known, ok := parameters[transport]
	if !ok {
		return refuse("transport %q is not supported: use unix, tcp, tls or ssh", transport)
	}
	if (u.Hostname() != "") == (transport == "unix") {
		return refuse("transport %s with host %q: unix goes without a host, tcp, tls and ssh need one", transport, u.Hostname())
	}
	if u.Path != "/system" && u.Path != "/session" {
		return refuse("path %q: it must be /system (or /session)", u.Path)
	}
	for name := range u.Query() {
		if !slices.Contains(known, name) {
			return refuse("parameter %q is not supported with %s; supported: %s", name, transport, orNone(known))
		}
	}
	return &target{
		transport: transport,
		host:      u.Hostname(), port: u.Port(), user: u.User.Username(),
		query:  u.Query(),
		driver: golibvirt.RemoteURI(u),
	}, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
