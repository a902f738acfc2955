package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// libvirtDirs are the directories of which each host has its own, kept in the lab's directory over a power cut.
var libvirtDirs = []string{"/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt"}

const (
	// localPool is where the pool "local" is in every host: the same path, another directory.
	localPool = "/var/lib/libvirt/images"
	// hostBridge is the bridge inside each host that its card and its guests' cards are plugged into.
	hostBridge = "br0"
	// hostCard is the host's end of its cable.
	hostCard = "eth0"
	// etcHosts names the hosts to each other.
	etcHosts = "hosts"
)

// private is the directory in the lab that the host sees as path.
func private(hostDir, path string) string {
	return filepath.Join(hostDir, strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "-"))
}

func (l *Lab) hostDir(name string) string { return filepath.Join(l.dir, hostsDir, name) }

// furnish writes all that a host keeps on its disk: libvirt's configuration, pools and network, and what is known of QEMU.
func (l *Lab) furnish(h hostState, cache string) error {
	dir := l.hostDir(h.Name)
	for _, d := range libvirtDirs {
		if err := os.MkdirAll(private(dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, devDir), 0o755); err != nil {
		return err
	}
	// "images" of /var/lib/libvirt.
	if err := os.MkdirAll(filepath.Join(private(dir, filepath.Dir(localPool)), filepath.Base(localPool)), 0o755); err != nil {
		return err
	}
	addr := address(l.state.Number, h.Index)
	etc := map[string]string{
		"libvirtd.conf":                       libvirtdConf(addr, h.UUID),
		"qemu.conf":                           qemuConf(addr),
		"storage/shared.xml":                  poolXML("shared", l.Shared(), uuidFor(l.dir, "pool", h.Name, "shared")),
		"storage/local.xml":                   poolXML("local", localPool, uuidFor(l.dir, "pool", h.Name, "local")),
		"storage/holdfast-boot.xml":           poolXML("holdfast-boot", bootIDDir, uuidFor(l.dir, "pool", h.Name, "holdfast-boot")),
		"qemu/networks/default.xml":           networkXML(uuidFor(l.dir, "network", h.Name)),
		"storage/autostart/shared.xml":        linkTo("../shared.xml"),
		"storage/autostart/local.xml":         linkTo("../local.xml"),
		"storage/autostart/holdfast-boot.xml": linkTo("../holdfast-boot.xml"),
		"qemu/networks/autostart/default.xml": linkTo("../default.xml"),
	}
	for name, content := range etc {
		path := filepath.Join(private(dir, "/etc/libvirt"), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if target, ok := strings.CutPrefix(content, linkMark); ok {
			if err := os.Symlink(target, path); err != nil {
				return err
			}
		} else if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, etcHosts), []byte(l.hostsFile()), 0o644); err != nil {
		return err
	}
	return giveCapabilities(cache, dir)
}

const linkMark = "-> "

func linkTo(target string) string { return linkMark + target }

// libvirtdConf makes libvirtd listen in the lab's network only. That network is this machine's own and has no way out, so no
// authentication is asked for.
func libvirtdConf(addr, hostUUID string) string {
	return fmt.Sprintf(`listen_tls = 0
listen_tcp = 1
listen_addr = "%s"
auth_tcp = "none"
unix_sock_group = "root"
auth_unix_ro = "none"
auth_unix_rw = "none"
host_uuid = "%s"
log_outputs = "3:file:/var/log/libvirt/libvirtd.log"
`, addr, hostUUID)
}

// qemuConf takes away what needs more of an operating system than a host of the lab has: cgroups, per-domain mount namespaces,
// a security driver, virtlogd. Owners of files are not remembered, since disks are seen by several hosts at once.
func qemuConf(addr string) string {
	return fmt.Sprintf(`user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = [ ]
namespaces = [ ]
stdio_handler = "file"
remember_owner = 0
migration_address = "%s"
migration_host = "%s"
`, addr, addr)
}

func poolXML(name, path, uuid string) string {
	return fmt.Sprintf("<pool type='dir'><name>%s</name><uuid>%s</uuid><target><path>%s</path></target></pool>\n",
		name, uuid, xmlText(path))
}

func networkXML(uuid string) string {
	return fmt.Sprintf("<network><name>default</name><uuid>%s</uuid><forward mode='bridge'/><bridge name='%s'/></network>\n",
		uuid, hostBridge)
}

func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&apos;", `"`, "&quot;").Replace(s)
}

// hostsFile is the /etc/hosts of every host.
func (l *Lab) hostsFile() string {
	var b strings.Builder
	fmt.Fprintf(&b, "127.0.0.1 localhost\n::1 localhost\n%s lab\n", gateway(l.state.Number))
	for _, h := range l.state.Hosts {
		fmt.Fprintf(&b, "%s %s\n", address(l.state.Number, h.Index), h.Name)
	}
	return b.String()
}
