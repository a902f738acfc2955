package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// TestScenarios plays the stories in testdata/scenarios: each command is one event, and all that the core wants done comes out below it. After a
// change of behaviour run with -rewrite and review the difference.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := newScene()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if err := s.play(d); err != nil {
				return "error: " + err.Error() + "\n"
			}
			return s.observe()
		})
	})
}

// scene is the world around one core: it knows names where the core knows ids.
type scene struct {
	core    *core.Core
	now     time.Time
	seq     int64
	epochs  map[string]int64
	uids    map[string]string // by VM name
	names   map[string]string // VM name by uid
	flight  []core.Command
	actions int
	current map[string]string // instance id by VM name
	stored  map[string]*v1.VirtualMachineStatus
	specs   map[string]*v1.VirtualMachine
	hosts   []*v1.Host
	config  *v1.ClusterConfig
}

func newScene() *scene {
	s := &scene{core: core.New(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), epochs: map[string]int64{}, uids: map[string]string{},
		names: map[string]string{}, current: map[string]string{}, stored: map[string]*v1.VirtualMachineStatus{},
		specs: map[string]*v1.VirtualMachine{}, config: &v1.ClusterConfig{Metadata: v1.ObjectMeta{UID: "cluster"}}}
	s.step(core.ConfigChanged{Config: s.config})
	return s
}

func (s *scene) step(ev core.Event) { s.core.Step(s.now, ev) }

// arg returns a named argument, or what stands for its absence.
func arg(d *datadriven.TestData, key, otherwise string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			if len(a.Vals) == 0 {
				return "true"
			}
			return a.Vals[0]
		}
	}
	return otherwise
}

func quantity(s string) v1.Quantity {
	q, err := v1.ParseQuantity(s)
	if err != nil {
		panic(err)
	}
	return q
}

func number(s string) int {
	var n int
	fmt.Sscan(s, &n)
	return n
}

func (s *scene) play(d *datadriven.TestData) error {
	first := ""
	if len(d.CmdArgs) > 0 {
		first = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "config":
		s.config.Spec.StartLimit = v1.StartLimit{Cluster: number(arg(d, "cluster", "0")), PerHost: number(arg(d, "per-host", "0"))}
		s.step(core.ConfigChanged{Config: s.config})
	case "host":
		h := &v1.Host{Metadata: v1.ObjectMeta{Name: first, UID: "uid-" + first, Generation: 1}, Spec: v1.HostSpec{URI: "sim:" + first,
			Unschedulable: arg(d, "cordoned", "") != ""}}
		s.hosts = append(s.hosts, h)
		s.step(core.HostChanged{Host: h})
	case "vm":
		s.vm(first, d)
	case "host-removed":
		s.hosts = slices.DeleteFunc(s.hosts, func(h *v1.Host) bool { return h.Metadata.Name == first })
		s.step(core.HostRemoved{Name: first})
	case "load":
		s.step(core.Loaded{Grace: v1.Duration(30 * time.Second)})
	case "term":
		s.term()
	case "connect":
		s.epochs[first]++
		s.seq++
		s.step(core.HostConnected{Host: first, Epoch: s.epochs[first], Facts: hypervisor.Facts{
			UUID: arg(d, "uuid", "host-"+first), BootID: arg(d, "boot", ""), Memory: quantity(arg(d, "memory", "4Gi")), CPUs: 4, LibvirtVersion: "9.0.0", QEMUVersion: "7.2.0",
			Accelerator: "tcg", MachineTypes: map[string]string{"q35": "pc-q35-7.2", "pc-q35-7.2": "pc-q35-7.2"},
		}, Listing: core.HostListed{Seq: s.seq, Domains: s.domains(d)}})
	case "list":
		s.seq++
		s.step(core.HostListed{Host: first, Epoch: s.epochs[first], Seq: s.seq, Domains: s.domains(d)})
	case "confirm-down":
		for i, h := range s.hosts {
			if h.Metadata.Name == first {
				c := *h
				c.Metadata.Generation++
				c.Spec.ConfirmedDown = &v1.ConfirmedDown{By: "ann", At: s.now}
				s.hosts[i] = &c
				s.step(core.HostChanged{Host: &c})
			}
		}
	case "lost":
		s.step(core.HostLost{Host: first, Epoch: s.epochs[first], Err: "connection refused", Unreachable: arg(d, "unreachable", "") != ""})
	case "see":
		s.seq++
		name := d.CmdArgs[1].Key
		s.step(core.DomainSeen{Host: first, Epoch: s.epochs[first], Seq: s.seq, UUID: s.uids[name], Domain: s.domain(name, d), Ended: arg(d, "ended", "")})
	case "start", "stop", "restart":
		s.actions++
		s.step(core.ActionPosted{Action: &v1.Action{Metadata: v1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("a%d", s.actions), ResourceVersion: fmt.Sprint(s.actions)},
			Spec: v1.ActionSpec{Type: v1.ActionType(d.Cmd), VM: first, VMUID: s.uids[first], Force: arg(d, "force", "") != "", By: "ann",
				ExpiresAt: s.now.Add(time.Hour)}}})
	case "tick":
		by, err := time.ParseDuration(first)
		if err != nil {
			return err
		}
		s.now = s.now.Add(by)
		s.step(core.Tick{})
	case "done", "refused", "unclear", "unsent":
		return s.outcome(first, d)
	case "next":
		at, ok := s.core.NextDeadline()
		if !ok {
			return fmt.Errorf("there is no deadline")
		}
		s.now = at
		s.step(core.Tick{})
	default:
		return fmt.Errorf("unknown command %q", d.Cmd)
	}
	return nil
}

func (s *scene) vm(name string, d *datadriven.TestData) {
	vm := s.specs[name]
	if vm == nil || arg(d, "anew", "") != "" {
		uid := "uid-" + name + arg(d, "anew", "")
		vm = &v1.VirtualMachine{Metadata: v1.ObjectMeta{Namespace: "default", Name: name, UID: uid}}
		vm.Spec.Template.Memory = 64 << 20
		s.uids[name], s.names[uid], s.specs[name] = uid, name, vm
	}
	c := *vm
	c.Metadata.Generation++
	c.Spec.RunStrategy = v1.RunStrategy(arg(d, "strategy", string(c.Spec.EffectiveRunStrategy())))
	c.Spec.Template.Memory = quantity(arg(d, "memory", c.Spec.Template.Memory.String()))
	if arg(d, "deleted", "") != "" {
		at := s.now
		c.Metadata.DeletionTimestamp = &at
	}
	if arg(d, "uefi", "") != "" {
		c.Spec.Template.Firmware.Type = v1.FirmwareUEFI
	}
	s.specs[name] = &c
	s.step(core.VMChanged{VM: &c})
}

// term: the control plane dies, and a new one loads what was written.
func (s *scene) term() {
	s.core, s.flight = core.New(), nil
	s.step(core.ConfigChanged{Config: s.config})
	for _, h := range s.hosts {
		s.step(core.HostChanged{Host: h})
	}
	for _, vm := range s.specs {
		c := *vm
		if st := s.stored[vm.Metadata.Name]; st != nil {
			c.Status = *st
		}
		s.step(core.VMChanged{VM: &c})
	}
	s.step(core.Loaded{Grace: v1.Duration(30 * time.Second)})
}

// outcome of the oldest command in flight of the VM that is named first; the second argument is what the host shows afterwards.
func (s *scene) outcome(name string, d *datadriven.TestData) error {
	for i, cmd := range s.flight {
		if cmd.UUID != s.uids[name] {
			continue
		}
		s.flight = append(s.flight[:i:i], s.flight[i+1:]...)
		s.seq++
		ev := core.CommandDone{ID: cmd.ID, Epoch: s.epochs[cmd.Host], Seq: s.seq, Message: arg(d, "error", ""),
			Outcome: map[string]core.Outcome{"done": core.Done, "refused": core.Refused, "unclear": core.Unclear, "unsent": core.Unsent}[d.Cmd]}
		if arg(d, "unseen", "") == "" {
			ev.Looked, ev.Domain = true, s.domain(name, d)
		}
		s.step(ev)
		return nil
	}
	return fmt.Errorf("no command is in flight for %s", name)
}

// domain reads "running", "paused", "inactive" or "absent" among the arguments, with why= and instance=.
func (s *scene) domain(name string, d *datadriven.TestData) *hypervisor.Domain {
	for _, a := range d.CmdArgs {
		if state := map[string]hypervisor.DomainState{"running": hypervisor.DomainRunning, "paused": hypervisor.DomainPaused,
			"inactive": hypervisor.DomainInactive}[a.Key]; state != "" && len(a.Vals) == 0 {
			return &hypervisor.Domain{UUID: s.uids[name], Name: name, ClusterUID: arg(d, "cluster", "cluster"), VMUID: s.uids[name],
				InstanceID: arg(d, "instance", s.current[name]), State: state, Why: arg(d, "why", "unknown"), Memory: 64 << 20, VCPUs: 1}
		}
	}
	return nil
}

// domains reads vm=NAME with the state arguments: at most one domain on the host.
func (s *scene) domains(d *datadriven.TestData) []hypervisor.Domain {
	name := arg(d, "vm", "")
	if name == "" {
		return nil
	}
	if s.uids[name] == "" {
		s.uids[name] = "uid-" + name
	}
	return []hypervisor.Domain{*s.domain(name, d)}
}

// observe prints what the core wants, and takes it as done: written, and sent.
func (s *scene) observe() string {
	var b strings.Builder
	r := s.core.Ready()
	for _, u := range r.Units {
		for _, w := range u.Writes {
			fmt.Fprintln(&b, s.write(w))
		}
		for _, cmd := range u.Commands {
			fmt.Fprintf(&b, "  → %s: %s %s %s\n", cmd.Host, cmd.Kind, s.names[cmd.UUID], cmd.Instance)
			s.flight = append(s.flight, cmd)
		}
	}
	for _, n := range r.Notices {
		fmt.Fprintf(&b, "! %s %s: %s\n", n.Object.Name, n.Reason, n.Message)
	}
	return b.String()
}

func (s *scene) write(w core.Write) string {
	switch w := w.(type) {
	case core.WriteVM:
		s.stored[w.Key.Name] = w.Status
		return "vm " + w.Key.Name + ": " + s.status(w.Key.Name, w.Status)
	case core.DeleteVM:
		delete(s.specs, w.Key.Name)
		delete(s.stored, w.Key.Name)
		return "vm " + w.Key.Name + ": removed"
	case core.ReleaseRevisions:
		return fmt.Sprintf("vm %s: specs before generation %d are released", w.Key.Name, w.Before)
	case core.WriteHost:
		for _, h := range s.hosts {
			if h.Metadata.Name == w.Name {
				h.Status = *w.Status
			}
		}
		return strings.TrimSpace(fmt.Sprintf("host %s: %s %s", w.Name, w.Status.State, w.Status.Message))
	case core.WriteAction:
		return fmt.Sprintf("action %s: %s %s: %s", w.Name, w.Status.Phase, w.Status.Reason, w.Status.Message)
	case core.DeleteAction:
		return "action " + w.Name + ": removed"
	}
	return fmt.Sprintf("%#v", w)
}

func (s *scene) status(name string, st *v1.VirtualMachineStatus) string {
	out := st.PrintableStatus
	if in := st.Instance; in != nil {
		s.current[name] = in.ID
		out += fmt.Sprintf(" | %s %s on %s", in.ID, in.Phase, in.Host)
		if in.Stop != nil {
			out += fmt.Sprintf(", to end: %s by %s", in.Stop.Reason, in.Stop.Deadline.Format(time.TimeOnly))
		}
		if in.Resets > 0 {
			out += fmt.Sprintf(", reset %d times", in.Resets)
		}
		if in.Unclear {
			out += ", unclear"
		}
		if in.Abandon != nil {
			out += ", ended: " + in.Abandon.Reason
		}
	}
	if st.Hold != nil {
		out += " | held by " + st.Hold.By
	}
	if st.Run != nil {
		out += " | run by " + st.Run.By
	}
	if st.Finished != nil {
		out += " | finished: " + st.Finished.Reason
	}
	if w := st.Waiting; w != nil {
		out += " | waits: " + w.Reason + ": " + w.Message
	}
	if cl := st.CrashLoop; cl != nil {
		out += fmt.Sprintf(" | %d failures, retry %s", cl.ConsecutiveFailures, cl.RetryAt.Format(time.TimeOnly))
	}
	for _, c := range st.Conditions {
		out += " | " + c.Type + " " + c.Status + ": " + c.Message
	}
	if len(st.Leftovers) > 0 {
		out += " | leftovers on " + strings.Join(st.Leftovers, ", ")
	}
	if len(st.History) > 0 {
		e := st.History[0]
		out += fmt.Sprintf(" | last: %s %s %s", e.Instance, e.Phase, e.Reason)
	}
	return out
}
