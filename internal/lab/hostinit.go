package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A host's PID 1 is this same program, started anew under the name of hostCommand in namespaces of its own. Any program that
// imports this package can therefore make a lab – the holdfast command, or a test – and needs nothing else installed.

// hostCommand is the name that a host's PID 1 runs under; its arguments are the lab's directory and the host's name.
const hostCommand = "holdfast-lab-host"

// searchPath is where the programs of a host are looked for.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// devDir, in a host's directory, is where its /dev is put together.
const devDir = "dev"

// bootIDDir holds one empty file, whose name is a random identity of the host's present boot. It is lost, with all of /run, when the
// power goes. It is a storage pool, so that libvirt's clients can see it: the hosts share a kernel, and with it an uptime.
const bootIDDir = "/run/holdfast-boot"

// hostOrder tells a host what to be. Its PID 1 reads it from standard input, and ends when there is none, which is so when its
// maker died before the host's card was plugged in.
type hostOrder struct {
	Name, Dir, Address string
	// KVM lets guests use the machine's /dev/kvm.
	KVM bool
}

func init() {
	if len(os.Args) != 3 || os.Args[0] != hostCommand {
		return
	}
	err := hostMain() // returns only when it could not be a host
	fmt.Fprintf(os.Stderr, "%s: %v\n", hostCommand, err)
	os.Exit(1)
}

func hostMain() error {
	var order hostOrder
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		return fmt.Errorf("read what to be: %w", err)
	}
	if err := syscall.Sethostname([]byte(order.Name)); err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	if err := mountAll(order); err != nil {
		return err
	}
	if err := connectCard(order); err != nil {
		return err
	}
	return keepLibvirtd()
}

// mountAll gives the host its own view of the file system.
func mountAll(order hostOrder) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, path := range libvirtDirs {
		if err := mount(private(order.Dir, path), path, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := mount(filepath.Join(order.Dir, etcHosts), "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	if err := mountDev(filepath.Join(order.Dir, devDir), order.KVM); err != nil {
		return err
	}
	const plain = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := mount("proc", "/proc", "proc", plain, ""); err != nil {
		return err
	}
	// Shows the network interfaces of this namespace.
	if err := mount("sysfs", "/sys", "sysfs", plain, ""); err != nil {
		return err
	}
	if err := mount("run", "/run", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=64m"); err != nil {
		return err
	}
	return markBoot()
}

// markBoot gives the host's present boot its identity.
func markBoot() error {
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return fmt.Errorf("make a boot id: %w", err)
	}
	if err := os.Mkdir(bootIDDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bootIDDir, strings.TrimSpace(string(id))), nil, 0o444)
}

// mountDev puts a /dev together from nodes of the machine's own, since making nodes is forbidden in many containers.
func mountDev(stage string, kvm bool) error {
	if err := mount("dev", stage, "tmpfs", syscall.MS_NOSUID, "mode=0755,size=1m"); err != nil {
		return err
	}
	nodes := []string{"null", "zero", "full", "random", "urandom", "tty", "net/tun", "vhost-net"}
	if kvm {
		nodes = append(nodes, "kvm")
	}
	for _, node := range nodes {
		source, target := filepath.Join("/dev", node), filepath.Join(stage, node)
		if _, err := os.Stat(source); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return err
		}
		if err := mount(source, target, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(stage, name)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(stage, dir), 0o755); err != nil {
			return err
		}
	}
	if err := mount("devpts", filepath.Join(stage, "pts"), "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return err
	}
	if err := mount("shm", filepath.Join(stage, "shm"), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=1777"); err != nil {
		return err
	}
	return mount(stage, "/dev", "", syscall.MS_MOVE, "")
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}

// connectCard plugs the card into a bridge inside the host, which guests' cards join, and gives the host its address.
func connectCard(order hostOrder) error {
	commands := []string{
		"link set lo up",
		"link add name " + hostBridge + " type bridge",
		"link set " + hostCard + " master " + hostBridge + " up",
		"addr add " + order.Address + "/24 dev " + hostBridge,
		"link set " + hostBridge + " up",
	}
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Env = []string{"LC_ALL=C", "PATH=" + searchPath}
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("connect the card: %w: %s", err, out)
	}
	return nil
}

// keepLibvirtd starts libvirtd, starts it again when it ended – at most once a second – and reaps orphans: QEMU daemonizes,
// and with dead ones left about libvirtd's probing of QEMU hangs. It returns only when libvirtd cannot be started.
func keepLibvirtd() error {
	// Whatever this program does about signals elsewhere, a PID 1 is not ended by them.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	var libvirtd int
	var started time.Time
	for {
		if libvirtd == 0 {
			time.Sleep(time.Until(started.Add(time.Second)))
			started = time.Now()
			p, err := os.StartProcess("/usr/sbin/libvirtd", []string{"libvirtd", "--listen"}, &os.ProcAttr{
				Dir:   "/",
				Env:   []string{"LC_ALL=C.UTF-8", "HOME=/root", "PATH=" + searchPath},
				Files: []*os.File{nil, os.Stdout, os.Stderr},
				Sys:   &syscall.SysProcAttr{Setsid: true},
			})
			if err != nil {
				return fmt.Errorf("start libvirtd: %w", err)
			}
			libvirtd = p.Pid
			_ = p.Release()
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for children: %w", err)
		}
		if pid == libvirtd {
			fmt.Fprintf(os.Stderr, "%s: libvirtd ended: %s\n", hostCommand, describe(status))
			libvirtd = 0
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
