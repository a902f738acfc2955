package core

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
	"github.com/holdfast-vm/holdfast/internal/core/placement"
	"github.com/holdfast-vm/holdfast/internal/core/startqueue"
)

// Defaults of the cluster's configuration.
const (
	DefaultClusterStartLimit = 100
	DefaultHostStartLimit    = 4
	DefaultStartTimeout      = 5 * time.Minute
	DefaultStopGrace         = 2 * time.Minute
	DefaultCPUModel          = "qemu64"
)

// The core's own rhythm.
const (
	// askAgain is how often a guest is asked to shut itself down: early in its boot it does not hear it.
	askAgain = 10 * time.Second
	// lookAgain is the least time between two looks at a domain that could not be seen.
	lookAgain = 200 * time.Millisecond
	// tryAgain is how long a command that did not work waits before it is sent again.
	tryAgain = 5 * time.Second
	// keepAction is how long an action is kept after it took effect, so that a repeated request finds it.
	keepAction = time.Hour
	// keepHistory is how many ends a VM's status shows.
	keepHistory = 5
)

// Core is the state of one term. It is not safe for concurrent use; the engine owns it.
type Core struct {
	now    time.Time
	loaded bool
	// loadedAt is when the term began: a host that has not been connected in it was lost by then.
	loadedAt time.Time
	// grace: until then a call of the previous leader may still be on its way, and nothing is unbound.
	grace time.Time

	clusterUID string
	config     v1.ClusterConfigSpec
	policy     lifecycle.Policy

	vms   map[string]*fleet.VM // by uid
	names map[VMKey]string     // uid by name
	hosts map[string]*fleet.Host
	views []*placement.Host // of hosts, by name

	queue *startqueue.Queue
	// fresh are the VMs queued in this Step: those that stay get a reason.
	fresh []*fleet.VM
	// labelled is the label that every waiting VM of a class carries already.
	labelled map[string]string
	// starting counts the slots taken in the cluster; retry says that somebody waiting may have a chance now.
	starting int
	retry    bool

	// removed are the uids of the VMs that were removed in this term.
	removed map[string]bool

	actions map[VMKey]*v1.Action
	pending []*v1.Action // posted before everything was loaded

	deadlines deadlines
	todo      []*fleet.VM
	commandID uint64
	commands  map[uint64]target

	ready Ready
	// open holds, by VM uid, what was decided and is not in ready yet: commands, and writes besides the status.
	open map[string]*Unit
}

// target is where a command in flight went.
type target struct {
	host, uuid string
	kind       CommandKind
}

// New is the core of a new term: tell it all that the store holds, then Loaded.
func New() *Core {
	c := &Core{
		vms: map[string]*fleet.VM{}, names: map[VMKey]string{}, hosts: map[string]*fleet.Host{},
		queue: startqueue.New(), labelled: map[string]string{}, actions: map[VMKey]*v1.Action{},
		removed: map[string]bool{}, commands: map[uint64]target{}, open: map[string]*Unit{},
	}
	c.setConfig(&v1.ClusterConfig{})
	return c
}

// Step takes one event into account. now never goes back.
func (c *Core) Step(now time.Time, ev Event) {
	if now.After(c.now) {
		c.now = now
	}
	switch ev := ev.(type) {
	case VMChanged:
		c.vmChanged(ev.VM)
	case VMOldRevisions:
		c.oldRevisions(ev)
	case HostChanged:
		c.hostChanged(ev.Host)
	case HostRemoved:
		c.hostRemoved(ev.Name)
	case ConfigChanged:
		c.setConfig(ev.Config)
	case ActionPosted:
		c.actionPosted(ev.Action)
	case Loaded:
		c.load(ev)
	case HostConnected:
		c.hostConnected(ev)
	case HostLost:
		c.hostLost(ev)
	case HostListed:
		c.hostListed(ev)
	case DomainSeen:
		c.domainSeen(ev)
	case CommandDone:
		c.commandDone(ev)
	case Tick:
	}
	c.due()
	c.settle()
}

// Ready hands out what has been decided since the last call.
func (c *Core) Ready() Ready {
	r := c.ready
	c.ready = Ready{}
	return r
}

// NextDeadline is the next moment at which time alone changes something; false when there is none.
func (c *Core) NextDeadline() (time.Time, bool) { return c.deadlines.next() }

// settle decides for every VM that something has touched, and admits waiting VMs, until nothing changes any more.
func (c *Core) settle() {
	if !c.loaded {
		return
	}
	for {
		for len(c.todo) > 0 {
			v := c.todo[0]
			c.todo = c.todo[1:]
			v.Todo = false
			if c.vms[v.UID] == v {
				c.decide(v)
				c.commit(v)
			}
		}
		if !c.retry {
			break
		}
		c.retry = false
		c.admit()
	}
	c.labelFresh()
}

// touch puts the VM on the list of those to decide.
func (c *Core) touch(v *fleet.VM) {
	if v != nil && !v.Todo {
		v.Todo = true
		c.todo = append(c.todo, v)
	}
}

// with is the open unit of v.
func (c *Core) with(v *fleet.VM) *Unit {
	u := c.open[v.UID]
	if u == nil {
		u = &Unit{}
		c.open[v.UID] = u
	}
	return u
}

// commit emits what deciding about v has brought: one unit. A VM that has just been queued, or has to be decided again, is left open:
// this very Step starts it or tells why it waits, and what it went through in between is nobody's news.
func (c *Core) commit(v *fleet.VM) {
	alive := c.vms[v.UID] == v
	if alive && v.Todo {
		return
	}
	if alive && v.Fresh {
		if !v.Freed {
			return
		}
		c.setWaiting(v, WaitStartLimit, "it starts when its turn comes") // what its last instance has freed may be given away in this Step
	}
	v.Freed = false
	if alive {
		c.present(v)
	}
	if alive && v.Changed() {
		u := c.with(v)
		u.Writes = append([]Write{WriteVM{Key: key(v), UID: v.UID, Status: v.Freeze()}}, u.Writes...)
	}
	if u := c.open[v.UID]; u != nil {
		delete(c.open, v.UID)
		c.ready.Units = append(c.ready.Units, *u)
	}
	c.schedule(v)
}

// also adds a write that belongs to what is decided about v.
func (c *Core) also(v *fleet.VM, w Write) {
	u := c.with(v)
	u.Writes = append(u.Writes, w)
}

func (c *Core) notice(o v1.ObjectRef, warning bool, reason, message string) {
	c.ready.Notices = append(c.ready.Notices, Notice{Object: o, Warning: warning, Reason: reason, Message: message})
}

func key(v *fleet.VM) VMKey { return VMKey{v.Namespace, v.Name} }

// load ends the loading of a term: instances enter the ledger, destructive deadlines start again, and deciding begins.
func (c *Core) load(ev Loaded) {
	c.loaded, c.loadedAt = true, c.now
	c.grace = c.now.Add(ev.Grace.Std())
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		if h := c.hosts[name]; h.Status.State == "" {
			h.Status.State, h.Status.Since = v1.HostConnecting, c.now
			c.writeHost(h)
		}
	}
	for _, v := range c.sortedVMs() {
		st := v.Status
		if in := st.Instance; in != nil {
			st = v.Mutable()
			in = st.Instance
			if in.Phase != v1.PhaseRunning && in.Abandon == nil {
				in.StartDeadline = c.now.Add(c.startTimeout(v))
				in.Unclear = in.Unclear || in.Phase == v1.PhaseLaunching // the launch of a leader that is gone
			}
			if in.Stop != nil && !in.Stop.Force {
				stop := *in.Stop
				stop.Deadline = c.now.Add(c.stopGrace(v))
				in.Stop = &stop
			}
			c.bind(v)
		}
		if cl := st.CrashLoop; cl != nil && cl.RetryAt.After(c.now.Add(c.policy.Max*6/5)) {
			cl := *cl
			cl.RetryAt = c.now.Add(c.policy.Max)
			v.Mutable().CrashLoop = &cl
		}
		c.bindLeftovers(v)
		c.touch(v)
	}
	slices.SortStableFunc(c.pending, func(a, b *v1.Action) int { return cmp.Compare(posted(a), posted(b)) })
	for _, a := range c.pending {
		c.apply(a)
	}
	c.pending = nil
}

// posted is the store's revision at which a pending action was accepted: the order in which users asked.
func posted(a *v1.Action) int64 {
	revision, _ := strconv.ParseInt(a.Metadata.ResourceVersion, 10, 64) // unreadable counts as the oldest
	return revision
}

func (c *Core) sortedVMs() []*fleet.VM {
	out := make([]*fleet.VM, 0, len(c.vms))
	for _, v := range c.vms { // any order: sorted below
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *fleet.VM) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

func (c *Core) setConfig(o *v1.ClusterConfig) {
	c.config, c.clusterUID = o.Spec, o.Metadata.UID
	c.policy = lifecycle.PolicyOf(o.Spec.CrashLoop)
	if c.config.StartLimit.Cluster == 0 {
		c.config.StartLimit.Cluster = DefaultClusterStartLimit
	}
	if c.config.StartLimit.PerHost == 0 {
		c.config.StartLimit.PerHost = DefaultHostStartLimit
	}
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		c.hosts[name].Refresh(c.config.StartLimit.PerHost)
	}
	c.retry = true
}

func (c *Core) startTimeout(v *fleet.VM) time.Duration {
	return cmp.Or(v.StartTimeout, c.config.StartTimeout.Std(), DefaultStartTimeout)
}

func (c *Core) stopGrace(v *fleet.VM) time.Duration {
	return cmp.Or(v.StopGrace, c.config.StopGracePeriod.Std(), DefaultStopGrace)
}

func (c *Core) cpuModel(v *fleet.VM) string {
	return cmp.Or(v.CPUModel, c.config.BaselineCPUModel, DefaultCPUModel)
}
