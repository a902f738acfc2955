package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// lostHost is a world in which host1 is unreachable and has VMs.
func lostHost(t *testing.T) *world {
	w := newWorld(t)
	w.host("host1", v1.HostStatus{State: v1.HostUnreachable, Message: "libvirt at h1 cannot be reached: no route to host", Since: ago(5 * time.Minute), LostAt: ago(6 * time.Minute)})
	w.host("host2", v1.HostStatus{State: v1.HostUp, Since: ago(time.Hour)})
	for name, strategy := range map[string]v1.RunStrategy{"web": v1.RunAlways, "db": v1.RunRerunOnFailure, "job": v1.RunOnce, "far": v1.RunAlways} {
		w.vm(name, strategy)
		on := "host1"
		if name == "far" {
			on = "host2"
		}
		w.status(name, func(st *v1.VirtualMachineStatus) {
			st.Instance = &v1.Instance{ID: "1-a", Host: on, Phase: v1.PhaseRunning}
		})
	}
	return w
}

// act does with the next word about the host what the core would: change says what becomes of its status.
func (w *world) act(host string, change func(st *v1.HostStatus, word *v1.ConfirmedDown)) {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	changes := w.store.Watch(ctx, layout.HostSpecKey(host), 1)
	go func() {
		for batch := range changes {
			for _, c := range batch.Changes {
				h, err := layout.DecodeHost(c.KV, nil)
				if err != nil || h.Spec.ConfirmedDown == nil {
					continue
				}
				now, err := w.client.GetHost(ctx, host)
				if err != nil {
					return
				}
				change(&now.Status, h.Spec.ConfirmedDown)
				w.hostStatus(now, now.Status)
				return
			}
		}
	}()
}

func fenced(st *v1.HostStatus, word *v1.ConfirmedDown) { st.WordAt, st.FencedAt = word.At, noon }

func TestConfirmDown(t *testing.T) {
	const shown = `host/host1: Unreachable since 5m ago (11:55:00): what runs there is unknown. Libvirt at h1 cannot be reached: no route to host.

These will start elsewhere, wherever there is room:
NAMESPACE   NAME   BECAUSE
default     db     its run strategy is RerunOnFailure
default     web    its run strategy is Always

These end, and stay off:
NAMESPACE   NAME   BECAUSE
default     job    its run strategy is Once

If host1 is NOT down, but only cut off or its libvirt hangs, what starts elsewhere runs twice, and every disk that two guests write to
is destroyed. When the host answers again, whatever it still runs of these is switched off at once. Holdfast cannot tell the
difference: look at the machine, or switch it off, before you go on.
`
	const done = "\nhost/host1 is taken for down; \"holdfast get vms -A\" shows how its virtual machines are getting on\n"
	answered := func(st *v1.HostStatus, word *v1.ConfirmedDown) { st.State, st.WordAt = v1.HostUp, word.At }
	for name, c := range map[string]struct {
		line     string
		typed    string // at a terminal; empty: there is none
		act      func(*v1.HostStatus, *v1.ConfirmedDown)
		code     int
		out, err string
		said     bool
	}{
		"a script that says so":    {"host1 --confirm host1", "", fenced, ExitOK, shown + done, "", true},
		"a script that only looks": {"host1", "", nil, ExitUsage, shown, "Error: nothing was done: say that host1 is down with --confirm host1\n", false},
		"another name":             {"host1 --confirm host2", "", nil, ExitUsage, "", "Error: --confirm host2: the host is named host1; nothing was done\n", false},
		"typed":                    {"host1", "host1\n", fenced, ExitOK, shown + done, "\nType the host's name to say that it is down: ", true},
		"typed something else": {"host1", "yes\n", nil, ExitRefused, shown,
			"\nType the host's name to say that it is down: Error: nothing was done: \"yes\" is not \"host1\"\n", false},
		"it answers meanwhile": {"host1 --confirm host1", "", answered, ExitRefused, shown,
			"Error: host/host1 has answered meanwhile: nothing of it was given up\n", true},
		"it is up": {"host2 --confirm host2", "", nil, ExitRefused, "", "Error: host/host2 cannot be confirmed to be down: it is not Unreachable. " +
			"Up since 1h ago (11:00:00). Its libvirt answers. If it has just gone down, wait until \"holdfast get host host2\" says Unreachable. " +
			"To keep new instances away: \"holdfast host cordon host2\".\n", false},
		"it is not there": {"host9", "", nil, ExitNotFound, "", "Error: Host host9 does not exist\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := lostHost(t)
			if c.act != nil {
				w.act("host1", c.act)
			}
			var out, errOut lockedBuffer
			e := w.env(c.typed, &out, &errOut)
			e.Interactive = c.typed != ""
			code := Run(t.Context(), e, append([]string{"host", "confirm-down"}, strings.Fields(c.line)...))
			if code != c.code || out.String() != c.out || errOut.String() != c.err {
				t.Errorf("got %d\n%s%s\nwant %d\n%s%s", code, out.String(), errOut.String(), c.code, c.out, c.err)
			}
			h, err := w.client.GetHost(t.Context(), "host1")
			if err != nil || (h.Spec.ConfirmedDown != nil) != c.said {
				t.Errorf("the word is %+v (error %v), want one: %v", h.Spec.ConfirmedDown, err, c.said)
			}
		})
	}
}

// Ctrl-C at the prompt is a no.
func TestConfirmDownInterrupted(t *testing.T) {
	w := lostHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, errOut := &lockedBuffer{}, &lockedBuffer{fed: make(chan struct{}, 1)}
	e := w.env("", out, errOut)
	silent, hangUp := io.Pipe() // a person who thinks
	defer hangUp.Close()
	e.In, e.Interactive = silent, true
	code := make(chan int, 1)
	go func() { code <- Run(ctx, e, []string{"host", "confirm-down", "host1"}) }()
	errOut.await(t, "Type the host's name")
	cancel()
	if got := <-code; got != ExitInterrupted || !strings.HasSuffix(errOut.String(), "\nError: interrupted: nothing was done\n") {
		t.Errorf("got %d %q", got, errOut.String())
	}
	if h, err := w.client.GetHost(t.Context(), "host1"); err != nil || h.Spec.ConfirmedDown != nil {
		t.Errorf("the word was taken: %+v, %v", h.Spec.ConfirmedDown, err)
	}
}

// A host without virtual machines: there is nothing to warn of.
func TestConfirmDownEmpty(t *testing.T) {
	w := newWorld(t)
	w.host("host1", v1.HostStatus{State: v1.HostUnreachable})
	r := w.run("host", "confirm-down", "host1")
	if r.code != ExitUsage || !strings.HasSuffix(r.out, "\n\nNo virtual machine is known to be on it: nothing will start elsewhere.\n") {
		t.Errorf("got %+v", r)
	}
}

// Without a control plane the word is kept, and that is said.
func TestConfirmDownUnanswered(t *testing.T) {
	w := lostHost(t)
	w.patience = time.Millisecond
	if out := w.ok("host", "confirm-down", "host1", "--confirm", "host1"); !strings.HasSuffix(out, "\nhost/host1: accepted; the control plane has not acted on it yet\n") {
		t.Errorf("got %s", out)
	}
}

func TestRemoveHost(t *testing.T) {
	w := lostHost(t)
	w.host("host3", v1.HostStatus{State: v1.HostConnecting})
	if out := w.ok("host", "remove", "host3"); out != "host/host3 deleted\n" {
		t.Errorf("got %q", out)
	}
	r := w.run("host", "remove", "host1")
	if r.code != ExitRefused || !strings.Contains(r.err, "default/db, default/job, default/web") || !strings.Contains(r.err, "holdfast host confirm-down host1") {
		t.Errorf("got %+v", r)
	}
}

// A host that another one's UUID keeps out is an error of "host add --wait", with the remedy.
func TestAddWaitRefused(t *testing.T) {
	w := newWorld(t)
	remedy := "its libvirt has the same host UUID 1 as host1; give each host its own: host_uuid in /etc/libvirt/libvirtd.conf, then restart libvirtd"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := w.store.Watch(ctx, layout.HostSpecKey("host2"), 1)
	go func() {
		for batch := range changes {
			if len(batch.Changes) > 0 {
				if h, err := w.client.GetHost(ctx, "host2"); err == nil {
					w.hostStatus(h, v1.HostStatus{State: v1.HostRefused, Reason: "DuplicateHostUUID", Message: remedy, Since: noon})
				}
				return
			}
		}
	}()
	r := w.run("host", "add", "host2", "qemu+tcp://host2/system", "--wait")
	if r.code != ExitRefused || !strings.Contains(r.err, "host/host2: Refused") || !strings.Contains(r.err, strings.TrimPrefix(remedy, "i")) {
		t.Errorf("got %+v", r)
	}
}
