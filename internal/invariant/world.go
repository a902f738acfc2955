package invariant

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// world is what a log has told so far.
type world struct {
	vms     map[string]*vm     // by uid, also those that are gone
	actions map[string]*action // by namespace/name
	hosts   map[string]*host
	config  v1.ClusterConfigSpec
	// domains is the real state, by host and UUID; before is the entry's domain as it was before.
	domains map[place]*placed
	before  *placed
	// changed are the VMs whose status the entry's commit changed, posted and settled its actions.
	changed         []*vm
	posted, settled []*action
	// refused are the actions that the log will show as refused, and acknowledged those that a sender was told of.
	refused      map[string]bool
	acknowledged []string
	// deaths are when control planes were killed or cut off.
	deaths []time.Time
}

type place struct{ host, uuid string }

// placed is a domain on a host since some moment.
type placed struct {
	Domain
	since time.Time // active since, when active
	// byOutsider: an outsider started what is active.
	byOutsider bool
}

type host struct {
	spec   v1.HostSpec
	status v1.HostStatus
	// rev is the revision that status is from.
	rev int64
	// fault is when the newest fault on it began or ended.
	fault time.Time
	// downs and forgets are when it went down, and when its libvirt forgot how what is off there had ended.
	downs, forgets []time.Time
	// silences are the times that Holdfast did not hear of it and then found it booted.
	silences []silence
	// lied is when a person falsely said that it is down, until it has been back for a while; zero: nobody has.
	lied time.Time
}

type silence struct{ lost, booted time.Time }

// version is a value as of a revision.
type version[T any] struct {
	at    time.Time
	rev   int64
	value T
}

type vm struct {
	uid       string
	specs     []version[*v1.VirtualMachine]
	statuses  []version[*v1.VirtualMachineStatus]
	gone      bool // its keys are removed
	instances map[string]*instance
	actions   []*action // in the order of posting
}

// instance is first known from the status that promised it room.
type instance struct {
	id        string
	created   version[*v1.VirtualMachineStatus]
	ran       bool // its domain was active
	leftQueue bool // a define or create has left for it
	ends      []ending
}

// ending is a time that an instance's domain stopped being active, as seen from outside.
type ending struct {
	at   time.Time
	host string
	by   Cause
	why  string
}

type action struct {
	spec   *v1.Action
	posted version[struct{}]
	// applied is the revision that settled it; zero while it waits.
	applied int64
	status  v1.ActionStatus
	settles int
	// had is the VM's instance just before it was settled.
	had string
}

func newWorld(log []Entry) *world {
	w := &world{
		vms: map[string]*vm{}, actions: map[string]*action{}, hosts: map[string]*host{}, domains: map[place]*placed{},
		refused: map[string]bool{},
	}
	for _, e := range log {
		c, ok := e.Fact.(Commit)
		if !ok {
			continue
		}
		for _, ch := range c.Changes {
			if id, ok := strings.CutPrefix(ch.Key, layout.Status+layout.Action+"/"); ok && !ch.Deleted {
				if s := decode[layout.StatusOf[v1.ActionStatus]](ch.Value); s.Status.Phase == v1.ActionRefused {
					w.refused[id] = true
				}
			}
		}
	}
	return w
}

// take moves the world on by one entry.
func (w *world) take(e Entry) {
	w.changed, w.posted, w.settled, w.before = nil, nil, nil, nil
	switch f := e.Fact.(type) {
	case Commit:
		w.commit(e, f)
	case Domain:
		w.domain(e, f)
	case Call:
		if in := w.instance(f.UUID, f.Instance); in != nil && (f.Op == "define" || f.Op == "create") {
			in.leftQueue = true
		}
	case Acknowledged:
		w.acknowledged = append(w.acknowledged, f.Namespace+"/"+f.Name)
	case Fault:
		if f.Death {
			w.deaths = append(w.deaths, e.At)
		}
		if f.Host != "" {
			w.fault(e.At, w.host(f.Host), f)
		}
	case Sample:
		w.forgiveLies(e.At, f)
	}
}

func (w *world) fault(at time.Time, h *host, f Fault) {
	h.fault = at
	if f.Down {
		h.downs = append(h.downs, at)
	}
	if f.Down || f.Forgets {
		h.forgets = append(h.forgets, at)
	}
	if f.Lie {
		h.lied = at
	}
}

// forgiveLies: a host that has been back for a while under a steady leader has been looked at. From then on nothing there may run twice.
func (w *world) forgiveLies(at time.Time, s Sample) {
	for _, h := range w.hosts {
		back := h.status.State == v1.HostUp && h.status.ConnectedAt.After(h.lied)
		if back && s.LeaderFor >= noticed && at.Sub(h.fault) >= noticed {
			h.lied = time.Time{}
		}
	}
}

func (w *world) domain(e Entry, d Domain) {
	p := place{d.Host, d.UUID}
	w.before = w.domains[p]
	now := &placed{Domain: d, since: e.At, byOutsider: d.By == ByOutsider}
	was := w.before != nil && w.before.Active()
	if was && w.before.Instance == d.Instance {
		now.since, now.byOutsider = w.before.since, w.before.byOutsider
	}
	w.domains[p] = now
	in := w.instance(d.UUID, d.Instance)
	switch {
	case in == nil:
	case d.Active():
		in.ran = true
	case was:
		in.ends = append(in.ends, ending{e.At, d.Host, d.By, d.Why})
	}
}

func (w *world) commit(e Entry, c Commit) {
	// Specs before statuses: one revision may bring both.
	for _, ch := range c.Changes {
		if id, ok := strings.CutPrefix(ch.Key, layout.Spec); ok {
			w.spec(e, id, ch)
		}
	}
	had := map[string]string{}
	for uid, m := range w.vms {
		if s := m.status(); s != nil && s.Instance != nil {
			had[uid] = s.Instance.ID
		}
	}
	for _, ch := range c.Changes {
		if id, ok := strings.CutPrefix(ch.Key, layout.Status); ok && !ch.Deleted {
			w.statusOf(e, id, ch, had)
		}
	}
}

func (w *world) spec(e Entry, id string, ch store.Change) {
	kind, name, _ := strings.Cut(id, "/")
	switch kind {
	case layout.Config:
		w.config = decode[v1.ClusterConfig](ch.Value).Spec
	case layout.Host:
		w.host(name).spec = decode[v1.Host](ch.Value).Spec
	case layout.VM:
		if ch.Deleted {
			for _, m := range w.vms {
				if s := m.spec(); !m.gone && s.Metadata.Namespace+"/"+s.Metadata.Name == name {
					m.gone = true
				}
			}
			return
		}
		o := decode[v1.VirtualMachine](ch.Value)
		m := w.vms[o.Metadata.UID]
		if m == nil {
			m = &vm{uid: o.Metadata.UID, instances: map[string]*instance{}}
			w.vms[m.uid] = m
		}
		m.specs = append(m.specs, version[*v1.VirtualMachine]{e.At, e.Rev, &o})
	case layout.Action:
		if ch.Deleted {
			return
		}
		o := decode[v1.Action](ch.Value)
		a := &action{spec: &o, posted: version[struct{}]{at: e.At, rev: e.Rev}}
		w.actions[name] = a
		w.posted = append(w.posted, a)
		if m := w.vms[o.Spec.VMUID]; m != nil {
			m.actions = append(m.actions, a)
		}
	}
}

func (w *world) statusOf(e Entry, id string, ch store.Change, had map[string]string) {
	kind, name, _ := strings.Cut(id, "/")
	switch kind {
	case layout.Host:
		h := w.host(name)
		h.status, h.rev = decode[layout.StatusOf[v1.HostStatus]](ch.Value).Status, e.Rev
		if s := h.status; !s.RebootedAt.IsZero() && s.RebootedAt.Equal(s.ConnectedAt) {
			h.silences = append(h.silences, silence{s.LostAt, s.RebootedAt})
		}
	case layout.VM:
		s := decode[layout.StatusOf[v1.VirtualMachineStatus]](ch.Value)
		m := w.vms[s.UID]
		if m == nil {
			return
		}
		v := version[*v1.VirtualMachineStatus]{e.At, e.Rev, &s.Status}
		m.statuses = append(m.statuses, v)
		w.changed = append(w.changed, m)
		if in := s.Status.Instance; in != nil && m.instances[in.ID] == nil {
			m.instances[in.ID] = &instance{id: in.ID, created: v}
		}
	case layout.Action:
		a := w.actions[name]
		s := decode[layout.StatusOf[v1.ActionStatus]](ch.Value).Status
		if a == nil || s.Phase == "" || s.Phase == v1.ActionPending {
			return
		}
		a.applied, a.status, a.had = e.Rev, s, had[a.spec.Spec.VMUID]
		a.settles++
		w.settled = append(w.settled, a)
	}
}

func (w *world) host(name string) *host {
	if w.hosts[name] == nil {
		w.hosts[name] = &host{}
	}
	return w.hosts[name]
}

func (w *world) instance(uid, id string) *instance {
	if m := w.vms[uid]; m != nil {
		return m.instances[id]
	}
	return nil
}

// active are the places where a VM's domain can run, in the order of their hosts.
func (w *world) active(uid string) []place {
	var at []place
	for p, d := range w.domains {
		if p.uuid == uid && d.Active() {
			at = append(at, p)
		}
	}
	slices.SortFunc(at, func(a, b place) int { return cmp.Compare(a.host, b.host) })
	return at
}

// spec is the newest; a VM always has one.
func (m *vm) spec() *v1.VirtualMachine { return m.specs[len(m.specs)-1].value }

// status is the newest; nil before the first.
func (m *vm) status() *v1.VirtualMachineStatus {
	if len(m.statuses) == 0 {
		return nil
	}
	return m.statuses[len(m.statuses)-1].value
}

// previous is the status before the newest; nil when there is none.
func (m *vm) previous() *v1.VirtualMachineStatus {
	if len(m.statuses) < 2 {
		return nil
	}
	return m.statuses[len(m.statuses)-2].value
}

// newInstance is the instance that the newest status is the first to mention; nil when it is none.
func (m *vm) newInstance() *instance {
	s := m.statuses[len(m.statuses)-1]
	if s.value.Instance == nil {
		return nil
	}
	if in := m.instances[s.value.Instance.ID]; in.created.rev == s.rev {
		return in
	}
	return nil
}

// ever reports whether a status so far satisfies the condition.
func (m *vm) ever(is func(*v1.VirtualMachineStatus) bool) bool {
	return slices.ContainsFunc(m.statuses, func(s version[*v1.VirtualMachineStatus]) bool { return is(s.value) })
}

func (m *vm) name() string { return m.spec().Metadata.Namespace + "/" + m.spec().Metadata.Name }

func (a *action) id() string { return a.spec.Metadata.Namespace + "/" + a.spec.Metadata.Name }

// strategy is the run strategy with the older spelling and the default worked in.
func strategy(s *v1.VirtualMachineSpec) v1.RunStrategy {
	if s.Running != nil && !*s.Running {
		return v1.RunHalted
	}
	return cmp.Or(s.RunStrategy, v1.RunAlways)
}

// decode reads a value of the store; what does not decode reads as zero, and no check holds that against anybody.
func decode[T any](b []byte) (v T) {
	_ = json.Unmarshal(b, &v)
	return v
}
