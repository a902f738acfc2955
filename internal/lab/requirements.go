package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// requirement is a file that a lab needs and the Debian package it comes in.
type requirement struct{ file, pkg, why string }

var requirements = []requirement{
	{"/usr/sbin/libvirtd", "libvirt-daemon", "the hosts' libvirt"},
	{"/usr/lib/*/libvirt/connection-driver/libvirt_driver_qemu.so", "libvirt-daemon-driver-qemu", "libvirt's QEMU driver"},
	{"/etc/libvirt", "libvirt-daemon-system", "libvirt's directories and user"},
	{"/usr/bin/virsh", "libvirt-clients", "looking inside"},
	{"/usr/bin/qemu-system-x86_64", "qemu-system-x86", "guests"},
	{"/usr/share/OVMF/OVMF_CODE_4M.fd", "ovmf", "firmware of UEFI guests"},
	{"/usr/bin/qemu-img", "qemu-utils", "volumes of format qcow2"},
	{"/sbin/ip", "iproute2", "the lab's network"},
}

// MissingPackages are the Debian packages that a lab needs and this machine lacks, sorted.
func MissingPackages() []string {
	var missing []string
	for _, r := range requirements {
		if !exists(r.file) && !slices.Contains(missing, r.pkg) {
			missing = append(missing, r.pkg)
		}
	}
	slices.Sort(missing)
	return missing
}

// Check says what keeps this process from making a lab, with what to do about it; nil when nothing does.
func Check() error {
	var problems []error
	if os.Geteuid() != 0 {
		problems = append(problems, errors.New("a lab makes namespaces and network interfaces, which takes root: run it with sudo"))
	}
	if missing := MissingPackages(); len(missing) > 0 {
		var why []string
		for _, r := range requirements {
			if slices.Contains(missing, r.pkg) {
				why = append(why, fmt.Sprintf("%s (%s)", r.pkg, r.why))
			}
		}
		problems = append(problems, fmt.Errorf("packages of Debian are missing: %s. Install them with \"hack/packages.sh\", or:\n"+
			"  apt-get install --no-install-recommends %s", strings.Join(why, ", "), strings.Join(missing, " ")))
	}
	return errors.Join(problems...)
}

func exists(pattern string) bool {
	found, err := filepath.Glob(pattern)
	return err == nil && len(found) > 0
}
