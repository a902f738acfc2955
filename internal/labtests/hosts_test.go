package labtests

import (
	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/lab"
)

// What is done to hosts, and what the server says of them.

// host is a host as it is now.
func (w *world) host(name string) lab.Host {
	w.t.Helper()
	h, err := w.lab.Host(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// onFailure says what the hosts run, should the test have failed by then.
func (w *world) onFailure() {
	if !w.t.Failed() {
		return
	}
	hosts, _ := w.lab.Hosts()
	for _, h := range hosts {
		w.t.Logf("%s is %s and has:\n%s", h.Name, h.State, w.virsh(h, "list", "--all"))
	}
}

// power cuts a host's power, or switches it on.
func (w *world) power(host string, on bool) {
	w.t.Helper()
	do := w.lab.PowerOff
	if on {
		do = w.lab.PowerOn
	}
	if err := do(w.t.Context(), host); err != nil {
		w.t.Fatal(err)
	}
}

// shutdown presses a guest's power button, as somebody on the host would, until it has ended: early in its boot it is deaf.
func (w *world) shutdown(host, uuid string) {
	w.t.Helper()
	h := w.host(host)
	eventually(w.t, uuid+" has shut down", func() bool {
		for _, running := range w.domains(h, "--state-running") {
			if running == uuid {
				w.virsh(h, "shutdown", "--mode", "acpi", uuid)
				return false
			}
		}
		return true
	})
}

// hostIs waits until the server says so.
func (w *world) hostIs(name string, state v1.HostState) {
	w.t.Helper()
	eventually(w.t, name+" is "+string(state), func() bool {
		h, err := w.server.client.GetHost(w.t.Context(), name)
		return err == nil && h.Status.State == state
	})
}
