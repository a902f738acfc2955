package libvirt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// seedLabel is the volume label by which cloud-init finds a NoCloud source.
const seedLabel = "cidata"

// seedName is the volume's name. It holds the instance's id, so that removing one instance's seed can never take away another's,
// on whatever host and in whatever order that happens.
func seedName(m hypervisor.Machine) string { return m.DomainName() + "." + m.InstanceID + ".seed.iso" }

// isSeedOf reports whether a volume is a seed of some instance of the domain's. Names of VMs may have dots, ids of instances have none:
// so a seed of the VM "web.x" is never taken for one of the VM "web".
func isSeedOf(domain, volume string) bool {
	rest, found := strings.CutPrefix(volume, domain+".")
	instance, seed := strings.CutSuffix(rest, ".seed.iso")
	return found && seed && !strings.Contains(instance, ".")
}

// seedFiles are what cloud-init reads. Its "instance-id" is the VM's uid, not Holdfast's instance: cloud-init does its
// once-per-instance work (host keys, users, disk set-up) again when that id changes, and a restart must not.
func seedFiles(m hypervisor.Machine) map[string]string {
	files := map[string]string{
		"meta-data": fmt.Sprintf("instance-id: %q\nlocal-hostname: %q\n", m.VMUID, hostname(m.Name)),
		"user-data": m.Template.CloudInit.UserData,
	}
	if m.Template.CloudInit.NetworkData != "" {
		files["network-config"] = m.Template.CloudInit.NetworkData
	}
	return files
}

// hostname is the VM's name up to the first dot: a name may have dots, a host's own name may not.
func hostname(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// seedImage writes the files as an ISO 9660 image. Rock Ridge and Joliet both carry the names: plain ISO 9660 has no room for
// "network-config".
func seedImage(files map[string]string) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "holdfast-seed-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	content := filepath.Join(dir, "content")
	if err := os.Mkdir(content, 0o700); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(content, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "seed.iso")
	image, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = image.Close() }()
	fs, err := iso9660.Create(file.New(image, false), 0, 0, 2048, content)
	if err != nil {
		return nil, err
	}
	if err := fs.Finalize(iso9660.FinalizeOptions{RockRidge: true, Joliet: true, VolumeIdentifier: seedLabel}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
