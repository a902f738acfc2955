package v1

import (
	"fmt"
	"net/url"
	"slices"
)

const uriRemedy = "write where libvirt listens, e.g. qemu+ssh://root@host1/system, qemu+tls://host1/system or qemu:///system"

// maxStartLimit is far above what any host bears; it catches a slip of the finger.
const maxStartLimit = 100_000

func (v *validator) host(s *HostSpec) {
	v.uri("spec.uri", s.URI)
	v.number("spec.reserved.cpus", s.Reserved.CPUs, 0, 1<<16)
	v.must(s.Reserved.Memory >= 0, "spec.reserved.memory", s.Reserved.Memory.String()+" is negative", "give zero or more")
	v.must(s.CPUOvercommit >= 0.1 && s.CPUOvercommit <= 100 || s.CPUOvercommit == 0, "spec.cpuOvercommit",
		fmt.Sprintf("%g is out of range", s.CPUOvercommit), "choose between 0.1 and 100; 1 promises no CPU twice")
	v.count("spec.startLimit", s.StartLimit, maxStartLimit)
}

// uri wants a libvirt URI of QEMU, over a transport that Holdfast speaks. (Simulated hosts have sim:// URIs.)
func (v *validator) uri(field, text string) {
	if !v.must(text != "", field, "missing", uriRemedy) {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		v.add(field, fmt.Sprintf("%q is not a URI", text), uriRemedy)
		return
	}
	if u.Scheme == "sim" {
		return
	}
	if !v.must(slices.Contains([]string{"qemu", "qemu+unix", "qemu+ssh", "qemu+tls", "qemu+tcp"}, u.Scheme), field,
		fmt.Sprintf("%q is not a way to reach libvirt", u.Scheme+"://"), "use qemu, qemu+unix, qemu+ssh, qemu+tls or qemu+tcp") {
		return
	}
	if u.Path != "/system" && u.Path != "/session" {
		v.add(field, fmt.Sprintf("%q does not end in /system", text), uriRemedy)
	}
	if _, has := u.User.Password(); has {
		v.add(field, "it holds a password, which everybody who may read the host would see", "use SSH keys or TLS certificates")
	}
	local := u.Scheme == "qemu+unix"
	remote := u.Scheme != "qemu" && !local
	if remote && u.Hostname() == "" {
		v.add(field, fmt.Sprintf("%q names no host", text), uriRemedy)
	}
	if local && u.Host != "" {
		v.add(field, "qemu+unix is for this machine, and the URI names a host", "use qemu+ssh, qemu+tls or qemu+tcp")
	}
}

func (v *validator) config(s *ClusterConfigSpec) {
	v.count("spec.startLimit.cluster", s.StartLimit.Cluster, maxStartLimit)
	v.count("spec.startLimit.perHost", s.StartLimit.PerHost, maxStartLimit)
	v.duration("spec.startTimeout", s.StartTimeout)
	v.duration("spec.stopGracePeriod", s.StopGracePeriod)
	c := s.CrashLoop
	v.duration("spec.crashLoop.initialDelay", c.InitialDelay)
	v.duration("spec.crashLoop.maxDelay", c.MaxDelay)
	v.duration("spec.crashLoop.minUptime", c.MinUptime)
	if c.InitialDelay > 0 && c.MaxDelay > 0 {
		v.must(c.InitialDelay <= c.MaxDelay, "spec.crashLoop.initialDelay",
			fmt.Sprintf("%s is longer than maxDelay, %s", c.InitialDelay, c.MaxDelay), "make it shorter, or maxDelay longer")
	}
	v.must(s.BaselineCPUModel == "" || machineWord.MatchString(s.BaselineCPUModel), "spec.baselineCPUModel",
		fmt.Sprintf("%q is not a CPU model", s.BaselineCPUModel), "write a name that libvirt knows, e.g. Skylake-Server")
}
