package libvirt

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

func TestParseURI(t *testing.T) {
	for _, test := range []struct{ uri, transport, host, port, driver string }{
		{"qemu:///system", "unix", "", "", "qemu:///system"},
		{"qemu:///session", "unix", "", "", "qemu:///session"},
		{"qemu+unix:///system?socket=/tmp/s", "unix", "", "", "qemu:///system"},
		{"qemu+tcp://h1/system", "tcp", "h1", "", "qemu:///system"},
		{"qemu+tcp://[fd00::1]:16000/system", "tcp", "fd00::1", "16000", "qemu:///system"},
		{"qemu+tls://h1/system?pkipath=/etc/x", "tls", "h1", "", "qemu:///system"},
		{"qemu://h1/system", "tls", "h1", "", "qemu:///system"},
		{"qemu+ssh://root@h1:2222/system?keyfile=/k", "ssh", "h1", "2222", "qemu:///system"},
	} {
		got, err := parseURI(test.uri)
		if err != nil {
			t.Errorf("%s: %v", test.uri, err)
			continue
		}
		if got.transport != test.transport || got.host != test.host || got.port != test.port || string(got.driver) != test.driver {
			t.Errorf("%s was read as %+v, want %+v", test.uri, got, test)
		}
	}
	for uri, remedy := range map[string]string{
		"http://h1/system":                        "must begin with qemu",
		"xen:///system":                           "must begin with qemu",
		"qemu+libssh2://h1/system":                "use unix, tcp, tls or ssh",
		"qemu+tcp:///system":                      "need one",
		"qemu+unix://h1/system":                   "without a host",
		"qemu+tcp://h1/":                          "must be /system",
		"qemu+tls://h1/system?no_verify=1":        "supported: pkipath",
		"qemu+tcp://h1/system?socket=/tmp/s":      "supported: none",
		"qemu+tcp://h1:port/system":               "invalid port",
		"qemu+ssh://h1/system?known_hosts_verify": "supported: socket, keyfile, known_hosts",
	} {
		if _, err := parseURI(uri); err == nil || !strings.Contains(err.Error(), remedy) || !strings.Contains(err.Error(), uri) {
			t.Errorf("%s: got error %v, want one that names it and says %q", uri, err, remedy)
		}
	}
}

func TestAsAnswer(t *testing.T) {
	answer := func(code golibvirt.ErrorNumber, text string) error {
		return golibvirt.Error{Code: uint32(code), Message: text}
	}
	for _, test := range []struct {
		err      error
		answered bool
		is       error
	}{
		{answer(golibvirt.ErrNoDomain, "Domain not found"), true, hypervisor.ErrNotFound},
		{answer(golibvirt.ErrInternalError, "process exited while connecting to monitor: no such disk"), true, nil},
		{answer(golibvirt.ErrSystemError, "Cannot access storage file '/x': No such file or directory"), true, nil},
		{golibvirt.ErrUnsupported, true, nil},
		{refusal("op", "no pool"), true, nil},
		{answer(golibvirt.ErrSystemError, "End of file while reading data: Input/output error"), false, nil},
		{answer(golibvirt.ErrRPC, "internal error"), false, nil},
		{golibvirt.ErrInterrupted, false, nil},
		{io.EOF, false, nil},
		{context.DeadlineExceeded, false, nil},
	} {
		got := asAnswer("start domain x", test.err)
		if hypervisor.Answered(got) != test.answered {
			t.Errorf("%v: became %v, want an answer: %v", test.err, got, test.answered)
		}
		if test.is != nil && !errors.Is(got, test.is) {
			t.Errorf("%v: became %v, want %v", test.err, got, test.is)
		}
	}
	var he *hypervisor.HostError
	err := asAnswer("start domain x", answer(golibvirt.ErrInternalError, "QEMU's own words"))
	if !errors.As(err, &he) || he.Op != "start domain x" || he.Message != "QEMU's own words" {
		t.Errorf("the host's words were lost: %v", err)
	}
	if !hasCode(err, golibvirt.ErrInternalError) || hasCode(err, golibvirt.ErrNoDomain) {
		t.Errorf("libvirt's code was lost: %v", err)
	}
}

func TestStateOf(t *testing.T) {
	for _, test := range []struct {
		state, reason int32
		want          hypervisor.DomainState
		why           string
	}{
		{1, 1, hypervisor.DomainRunning, "booted"},
		{1, 2, hypervisor.DomainRunning, "migrated"},
		{2, 0, hypervisor.DomainRunning, hypervisor.WhyUnknown},
		{3, 1, hypervisor.DomainPaused, hypervisor.WhyUser},
		{3, 2, hypervisor.DomainPaused, hypervisor.WhyIncoming},
		{3, 5, hypervisor.DomainPaused, hypervisor.WhyIOError},
		{3, 11, hypervisor.DomainPaused, hypervisor.WhyStartup},
		{3, 99, hypervisor.DomainPaused, "reason-99"},
		{4, 0, hypervisor.DomainRunning, "shutting-down"},
		{5, 0, hypervisor.DomainInactive, hypervisor.WhyUnknown},
		{5, 1, hypervisor.DomainInactive, hypervisor.WhyShutdown},
		{5, 2, hypervisor.DomainInactive, hypervisor.WhyDestroyed},
		{5, 3, hypervisor.DomainInactive, hypervisor.WhyCrashed},
		{5, 4, hypervisor.DomainInactive, hypervisor.WhyMigrated},
		{5, 5, hypervisor.DomainInactive, hypervisor.WhySaved},
		{5, 6, hypervisor.DomainInactive, hypervisor.WhyFailed},
		{5, -1, hypervisor.DomainInactive, "reason--1"},
		{6, 1, hypervisor.DomainPaused, hypervisor.WhyCrashed},
		{7, 0, hypervisor.DomainPaused, "pmsuspended"},
	} {
		if got, why := stateOf(test.state, test.reason); got != test.want || why != test.why {
			t.Errorf("state %d, reason %d is %s (%s), want %s (%s)", test.state, test.reason, got, why, test.want, test.why)
		}
	}
}

func TestUndefineFlags(t *testing.T) {
	const always = 1 + 2 + 16 // managed save, snapshots' metadata, checkpoints' metadata
	for _, test := range []struct {
		state   bool
		version uint64
		want    golibvirt.DomainUndefineFlagsValues
	}{
		{false, 9_000_000, always + 8 + 64}, // keep NVRAM, keep TPM
		{true, 9_000_000, always + 4 + 32},  // remove both
		{false, 8_008_000, always + 8},      // this libvirt does not know about TPM state
		{true, 8_008_000, always + 4},
	} {
		if got := undefineFlags(test.state, test.version); got != test.want {
			t.Errorf("state %v on libvirt %d: flags %d, want %d", test.state, test.version, got, test.want)
		}
	}
}

func TestIdentity(t *testing.T) {
	m := goldenMachine(goldenTemplates["cloud-init"].template)
	element := `<instance xmlns="https://holdfast.dev/domain/1" cluster="` + m.ClusterUID + `" vm="` + m.VMUID +
		`" id="i1" namespace="shop" name="web"><seed pool="fast" volume="s.iso"/></instance>`
	got := parseIdentity(element)
	if got.foreign() || got.ClusterUID != m.ClusterUID || got.VMUID != m.VMUID || got.InstanceID != "i1" || got.Seed.Volume != "s.iso" {
		t.Errorf("the element was read as %+v", got)
	}
	for _, element := range []string{"", "<instance/>", `<instance vm="x"/>`, `<other vm="x" id="y"/>`, "not XML"} {
		if got := parseIdentity(element); !got.foreign() || got.InstanceID != "" {
			t.Errorf("%q was read as %+v, want a foreign domain", element, got)
		}
	}
}

func TestParseCaps(t *testing.T) {
	got, err := parseCaps(`<capabilities><host><uuid>u</uuid></host>
		<guest><os_type>hvm</os_type><arch name='i686'><machine>old</machine><domain type='kvm'/></arch></guest>
		<guest><os_type>hvm</os_type><arch name='x86_64'>
			<machine maxCpus='288'>pc-q35-7.2</machine><machine canonical='pc-q35-7.2' maxCpus='288'>q35</machine>
			<machine canonical='pc-i440fx-7.2'>pc</machine><domain type='qemu'/></arch></guest></capabilities>`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"q35": "pc-q35-7.2", "pc-q35-7.2": "pc-q35-7.2", "pc": "pc-i440fx-7.2", "pc-i440fx-7.2": "pc-i440fx-7.2", "old": "",
	} {
		if got.machines[name] != want {
			t.Errorf("machine type %s is %q, want %q", name, got.machines[name], want)
		}
	}
	if got.hostUUID != "u" || got.kvm || got.domainType() != "qemu" {
		t.Errorf("capabilities were read as %+v", got)
	}
}
