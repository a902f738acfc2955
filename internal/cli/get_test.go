package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// fleet fills the server with one of everything that tables show differently.
func (w *world) fleet() {
	w.host("host1", v1.HostStatus{State: v1.HostUp, Since: ago(time.Hour), UUID: "11111111-1111-4111-8111-111111111111",
		Capacity: v1.Resources{Memory: 8 << 30, CPUs: 8}, LibvirtVersion: "9.0.0", QEMUVersion: "7.2.0", Accelerator: "kvm",
		Pools: []string{"local", "shared"}, Networks: []string{"default"}})
	w.host("host2", v1.HostStatus{State: v1.HostUnreachable, Since: ago(2 * time.Minute), Message: "libvirt at qemu+tcp://10.0.0.2/system cannot be reached: no route to host",
		ConnectedAt: ago(time.Hour), RebootedAt: ago(time.Hour), LostAt: ago(3 * time.Minute), Capacity: v1.Resources{Memory: 4 << 30, CPUs: 4}})
	w.host("host3", v1.HostStatus{})
	w.ok("host", "cordon", "host3")

	running := v1.Instance{ID: "web-1", Phase: v1.PhaseRunning, Host: "host1", Generation: 1, CreatedAt: ago(50 * time.Minute),
		RunningAt: ago(49 * time.Minute), Memory: 600 << 20, VCPUs: 2}
	w.apply(`apiVersion: holdfast/v1
kind: VirtualMachine
metadata: {name: web, labels: {tier: front}}
spec:
  runStrategy: Always
  template:
    cpu: {cores: 2}
    memory: 512Mi
    disks:
    - {name: root, pool: shared, volume: web.qcow2, bootOrder: 1}
    - {name: data, path: /srv/data.img, readOnly: true}
    nics:
    - {name: lan, network: default, mac: "52:54:00:12:34:56"}
`)
	w.status("web", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Instance, s.MachineType = v1.PrintableRunning, &running, "pc-q35-7.2"
		s.History = []v1.End{{Instance: "web-0", Host: "host2", Phase: v1.PhaseFailed, Reason: "Crashed", Message: "the guest panicked",
			CreatedAt: ago(58 * time.Minute), RunningAt: ago(57 * time.Minute), EndedAt: ago(51 * time.Minute)}}
		s.Leftovers = []string{"host2"}
		s.Conditions = []v1.Condition{{Type: "Ready", Status: v1.ConditionTrue, LastTransitionTime: ago(49 * time.Minute)}}
	})
	w.event("web", "Crashed", "instance web-0 on host2: the guest panicked", 2, ago(51*time.Minute))
	w.event("web", "Started", "instance web-1 runs on host1", 1, ago(49*time.Minute))

	w.vm("flaky", v1.RunAlways)
	w.status("flaky", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableBackOff
		s.Waiting = &v1.Waiting{Reason: "CrashLoopBackOff", Message: "it has failed 5 times in a row", Since: ago(time.Minute)}
		s.CrashLoop = &v1.CrashLoop{ConsecutiveFailures: 5, RetryAt: noon.Add(2 * time.Minute), LastFailure: v1.End{Instance: "flaky-5", Host: "host1",
			Phase: v1.PhaseFailed, Reason: "StartFailed", Message: "Cannot access storage file '/srv/gone.img'", EndedAt: ago(time.Minute)}}
	})
	w.vm("held", v1.RunAlways)
	w.status("held", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Hold = v1.PrintableStopped, &v1.Hold{By: "alice", At: ago(3 * time.Minute)}
	})
	w.vm("new", v1.RunManual)
	w.vm("job", v1.RunOnce)
	w.status("job", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableStopped
		s.Hold, s.Finished = &v1.Hold{At: ago(3 * time.Minute)}, &v1.Finished{Instance: "1-job", Reason: "AsRequested", At: ago(3 * time.Minute)}
		s.History = []v1.End{{Instance: "1-job", Host: "host1", Phase: v1.PhaseSucceeded, Reason: "AsRequested", Message: "stopped",
			CreatedAt: ago(5 * time.Minute), RunningAt: ago(4 * time.Minute), EndedAt: ago(3 * time.Minute)}}
	})
	w.vm("batch", v1.RunRerunOnFailure)
	w.status("batch", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Finished = v1.PrintableStopped, &v1.Finished{Instance: "1-batch", Reason: "GuestShutdown", At: ago(time.Minute)}
		s.History = []v1.End{{Instance: "1-batch", Host: "host1", Phase: v1.PhaseSucceeded, Reason: "GuestShutdown", Message: "the guest shut itself down",
			CreatedAt: ago(5 * time.Minute), RunningAt: ago(4 * time.Minute), EndedAt: ago(time.Minute)}}
	})
	w.vm("lost", v1.RunAlways)
	w.status("lost", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus = v1.PrintableUnknown
		s.Instance = &v1.Instance{ID: "lost-1", Phase: v1.PhaseRunning, Host: "host2", Memory: 600 << 20, VCPUs: 1, RunningAt: ago(time.Hour)}
	})
}

// What people see, as files to read and compare.
func TestGolden(t *testing.T) {
	w := newWorld(t)
	w.fleet()
	for name, line := range map[string]string{
		"get-vms":           "get vms",
		"get-vms-wide":      "get vms -o wide",
		"get-vms-all":       "get virtualmachines -A",
		"get-vm-names":      "get vm web held -o name",
		"get-vm-yaml":       "get vm/web -o yaml",
		"get-vms-selected":  "get vms -l tier=front",
		"get-hosts":         "get hosts",
		"get-hosts-wide":    "get host -o wide",
		"get-events":        "get events",
		"events-web":        "events web",
		"get-clusterconfig": "get clusterconfig",
		"describe-running":  "describe vm web",
		"describe-backoff":  "describe vm flaky",
		"describe-several":  "describe vm held lost job batch",
		"describe-host":     "describe host host1",
		"describe-host-off": "describe host/host2",
		"help":              "--help",
		"help-exit-codes":   "help exit-codes",
		"version":           "version",
	} {
		t.Run(name, func(t *testing.T) {
			got := "$ holdfast " + line + "\n" + w.ok(strings.Fields(line)...)
			golden(t, filepath.Join("testdata", name+".golden"), steady(got))
		})
	}
}

func TestGetNothing(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]string{
		"get vms":                     "No virtual machines in namespace default.\n",
		"get vms -n prod":             "No virtual machines in namespace prod.\n",
		"get vms -A":                  "No virtual machines.\n",
		"get hosts -n prod":           "No hosts.\n",
		"get actions":                 "No actions in namespace default.\n",
		"events -n prod":              "No events in namespace prod.\n",
		"get vms -l app=nonsense -A ": "No virtual machines.\n",
	} {
		if r := w.run(strings.Fields(line)...); r.code != ExitOK || r.out != "" || r.err != want {
			t.Errorf("%s: got %+v, want %q on stderr", line, r, want)
		}
	}
	if out := w.ok("get", "vms", "-o", "json"); !strings.Contains(out, `"items": []`) {
		t.Errorf("an empty list in JSON is %s", out)
	}
}

// One name is the object itself, several are a list; both are what programs decode.
func TestGetJSON(t *testing.T) {
	w := newWorld(t)
	w.vm("a", v1.RunManual)
	w.vm("b", v1.RunManual)
	var one v1.VirtualMachine
	if err := json.Unmarshal([]byte(w.ok("get", "vm", "b", "-o", "json")), &one); err != nil || one.Metadata.Name != "b" || one.Kind != v1.KindVirtualMachine {
		t.Errorf("got %+v, %v", one, err)
	}
	var many v1.List[v1.VirtualMachine]
	if err := json.Unmarshal([]byte(w.ok("get", "vm", "b", "a", "-o", "json")), &many); err != nil || len(many.Items) != 2 || many.Kind != "VirtualMachineList" {
		t.Errorf("got %+v, %v", many, err)
	}
}

// Names that exist are shown, those that do not are errors, and the code says so.
func TestGetSomeMissing(t *testing.T) {
	w := newWorld(t)
	w.vm("a", v1.RunManual)
	r := w.run("get", "vm", "a", "b", "-o", "name")
	if r.code != ExitNotFound || r.out != "vm/a\n" || !strings.Contains(r.err, "b") {
		t.Errorf("got %+v", r)
	}
}

// What get -o yaml writes can be applied again, and changes nothing.
func TestYAMLIsAManifest(t *testing.T) {
	w := newWorld(t)
	w.vm("a", v1.RunManual)
	r := w.runWith(t.Context(), w.ok("get", "vm", "a", "-o", "yaml"), "apply", "-f", "-")
	if r.code != ExitOK || r.out != "vm/a unchanged\n" {
		t.Errorf("got %+v", r)
	}
}

// A watch shows what is there, then what changes, once each, and what is gone.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.vm("b", v1.RunManual)
	w.vm("a", v1.RunManual)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errOut := lockedBuffer{fed: make(chan struct{}, 1)}, lockedBuffer{}
	code := make(chan int)
	go func() { code <- Run(ctx, w.env("", &out, &errOut), []string{"get", "vms", "--watch"}) }()
	out.await(t, "b      Waiting")
	w.status("a", func(s *v1.VirtualMachineStatus) { s.PrintableStatus = v1.PrintableStopped })
	out.await(t, "a      Stopped")
	w.status("a", func(s *v1.VirtualMachineStatus) { s.MachineType = "no column shows this" })
	w.status("a", func(s *v1.VirtualMachineStatus) {
		s.PrintableStatus, s.Instance = v1.PrintableStarting, &v1.Instance{Host: "host1", Phase: v1.PhaseLaunching}
	})
	out.await(t, "host1")
	cancel()
	if c := <-code; c != ExitOK || errOut.String() != "" {
		t.Errorf("ended with %d: %s", c, errOut.String())
	}
	want := `NAME   STATUS    HOST   AGE
a      Waiting   -      1h
b      Waiting   -      1h
a      Stopped   -      1h
a      Starting   host1   1h
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
