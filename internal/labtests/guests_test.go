package labtests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/lab"
	"github.com/holdfast-vm/holdfast/internal/lab/heartbeat"
	"github.com/holdfast-vm/holdfast/internal/lab/labtest"
)

// world is a lab with a server that knows its hosts.
type world struct {
	t      *testing.T
	lab    *lab.Lab
	server *server
	guest  labtest.Files
}

func newWorld(t *testing.T, hosts int) *world {
	t.Helper()
	labtest.Require(t)
	w := &world{t: t, guest: labtest.Guest(t), lab: labtest.Shared(t, hosts)}
	w.server = newServer(t)
	all, err := w.lab.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all[:hosts] {
		host := &v1.Host{Metadata: v1.ObjectMeta{Name: h.Name}, Spec: v1.HostSpec{URI: h.URI}}
		if _, err := w.server.client.CreateHost(t.Context(), host); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range all[:hosts] {
		eventually(t, h.Name+" is up", func() bool {
			got, err := w.server.client.GetHost(t.Context(), h.Name)
			return err == nil && got.Status.State == v1.HostUp
		})
	}
	t.Cleanup(w.sweep)
	return w
}

// sweep removes what a failed test has left on the hosts, so that the next one finds them empty.
func (w *world) sweep() {
	w.server.kill()
	hosts, err := w.lab.Hosts()
	if err != nil {
		w.t.Error(err)
		return
	}
	for _, h := range hosts {
		for _, uuid := range w.domains(h, "--all") {
			w.virsh(h, "destroy", uuid)
			w.virsh(h, "undefine", "--nvram", uuid)
		}
	}
}

func (w *world) virsh(h lab.Host, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "virsh", append([]string{"-q", "-c", h.URI}, args...)...).Output() // a host may be off
	return string(out)
}

// domains are the UUIDs of a host's domains; which ones is virsh list's option.
func (w *world) domains(h lab.Host, which string) []string {
	return strings.Fields(w.virsh(h, "list", "--uuid", which))
}

// hostsOf says where domains of that UUID are, by virsh list's option.
func (w *world) hostsOf(uuid, which string) []string {
	w.t.Helper()
	hosts, err := w.lab.Hosts()
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, h := range hosts {
		for _, d := range w.domains(h, which) {
			if d == uuid {
				out = append(out, h.Name)
			}
		}
	}
	return out
}

// vm makes a VM's manifest: the test guest with a disk for its heartbeat, in the shared pool. Words on its kernel's command line make
// it behave.
func (w *world) vm(name string, strategy v1.RunStrategy, words ...string) *v1.VirtualMachine {
	w.t.Helper()
	volume := w.volume(name)
	if err := os.WriteFile(w.disk(name), make([]byte, 1<<20), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.Remove(w.disk(name)) })
	vm := &v1.VirtualMachine{Metadata: v1.ObjectMeta{Name: name}}
	vm.Spec = v1.VirtualMachineSpec{
		RunStrategy:     strategy,
		StopGracePeriod: v1.Duration(15 * time.Second),
		Template: v1.Template{
			Memory: 96 << 20,
			KernelBoot: &v1.KernelBoot{Kernel: w.guest.Kernel, Initrd: w.guest.Initrd,
				Cmdline: strings.Join(append([]string{labtest.Cmdline}, words...), " ")},
			Disks: []v1.Disk{{Name: "heartbeat", Pool: "shared", Volume: volume, Format: "raw"}},
		},
	}
	return vm
}

func (w *world) volume(name string) string {
	return strings.ReplaceAll(w.t.Name(), "/", "-") + "-" + name + ".raw"
}

func (w *world) disk(name string) string { return filepath.Join(w.lab.Shared(), w.volume(name)) }

// beat reads what the VM's guests have written, and fails when two ran at once.
func (w *world) beat(name string) heartbeat.Log {
	w.t.Helper()
	log, err := heartbeat.ReadDisk(w.disk(name))
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	for _, c := range log.Conflicts {
		w.t.Fatalf("%s had two writers: %s", name, c)
	}
	return log
}

// booted waits until a guest of the VM beats that is not one of those before, and returns its boot id.
func (w *world) booted(name string, before ...string) string {
	w.t.Helper()
	id := ""
	eventually(w.t, fmt.Sprintf("a new guest of %s writes its heartbeat", name), func() bool {
		boot, ok := w.beat(name).Running()
		if !ok || strings.Contains(strings.Join(before, " "), boot.ID) {
			return false
		}
		id = boot.ID
		return true
	})
	return id
}

func (w *world) status(name string) *v1.VirtualMachine {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	vm, err := w.server.client.GetVM(ctx, "", name)
	if err != nil {
		return nil
	}
	return vm
}

// is waits until the VM's status is the word.
func (w *world) is(name, word string) *v1.VirtualMachine {
	w.t.Helper()
	var vm *v1.VirtualMachine
	eventually(w.t, name+" is "+word, func() bool {
		vm = w.status(name)
		return vm != nil && vm.Status.PrintableStatus == word
	})
	return vm
}

func (w *world) act(name string, kind v1.ActionType, force bool) {
	w.t.Helper()
	if _, err := w.server.client.PostAction(w.t.Context(), "", name, v1.ActionRequest{Type: kind, Force: force}); err != nil {
		w.t.Fatalf("%s %s: %v", kind, name, err)
	}
}

// create makes the VM through the API.
func (w *world) create(vm *v1.VirtualMachine) *v1.VirtualMachine {
	w.t.Helper()
	made, err := w.server.client.CreateVM(w.t.Context(), vm)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// gone waits until the API does not know the VM any more.
func (w *world) gone(name string) {
	w.t.Helper()
	eventually(w.t, name+" is gone", func() bool {
		_, err := w.server.client.GetVM(w.t.Context(), "", name)
		return client.IsNotFound(err)
	})
}
