package core

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/core/fleet"
	"github.com/holdfast-vm/holdfast/internal/core/lifecycle"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// absencesForCertain: a domain that was undefined and is seen absent twice will not appear any more. The first sighting may have
// overtaken a create that was still under way; after the second, a late create finds no definition and fails.
const absencesForCertain = 2

// launch binds a new instance to a host: from here on the host's room is spent.
func (c *Core) launch(v *fleet.VM, h *fleet.Host) {
	st := v.Mutable()
	st.Instances++
	created := c.now
	if !created.After(h.Status.FencedAt) {
		created = h.Status.FencedAt.Add(1) // a fence ends all that was here by then, and not what comes after
	}
	st.Instance = &v1.Instance{
		ID: instanceID(v.UID, st.Instances, c.now), Phase: v1.PhaseScheduled, Host: h.Name, Generation: v.Generation,
		CreatedAt: created, StartDeadline: c.now.Add(c.startTimeout(v)), Memory: v.Need.Memory, VCPUs: v.Need.VCPUs,
	}
	v.Built = v.Template
	if canonical := h.View.MachineTypes[v.Need.MachineType]; canonical != v.Need.MachineType {
		st.MachineAlias, st.MachineType = v.Need.MachineType, canonical
		v.Refine()
	} else if st.MachineType == "" {
		st.MachineAlias, st.MachineType = canonical, canonical
	}
	c.setWaiting(v, "", "")
	c.bind(v)
	c.touch(v)
}

// instanceID is unique for the VM: its number, and a hash that differs after a restored backup has counted to the same number.
func instanceID(uid string, n int64, at time.Time) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d/%d", uid, n, at.UnixNano())
	return fmt.Sprintf("%d-%08x", n, h.Sum32())
}

// superseded reports whether id is an instance that v has had before: its number is not above the count.
func superseded(v *fleet.VM, id string) bool {
	number, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > v.Status.Instances {
		return false
	}
	in := v.Status.Instance
	return in == nil || n < v.Status.Instances || id == in.ID
}

// decideInstance looks at what the instance's host shows, and acts.
func (c *Core) decideInstance(v *fleet.VM) {
	in := v.Status.Instance
	h := c.hosts[in.Host]
	if h != nil && !in.CreatedAt.After(h.Status.FencedAt) {
		c.end(v, v1.PhaseFailed, lifecycle.EndHostLost, vouched(h), false)
		return
	}
	if h == nil || !h.Usable() {
		return // nothing is known for certain; what its owner wished is recorded, and waits
	}
	d := h.Domain(v.UID)
	switch {
	case d.InFlight != 0: // its outcome will bring us back
	case !d.Seen:
		c.look(v, h, d)
	case v.MovedTo != "" && !d.Active():
		c.followMove(v, h)
	case d.Current != nil && d.Current.InstanceID != in.ID:
		c.clean(v, h, d)
	case d.Active():
		c.decideActive(v, h, d)
	case d.Current != nil:
		c.decideInactive(v, h, d)
	default:
		c.decideAbsent(v, h, d)
	}
}

// followMove binds the instance to the host that somebody has moved it to.
func (c *Core) followMove(v *fleet.VM, from *fleet.Host) {
	to := c.hosts[v.MovedTo]
	v.MovedTo = ""
	if to == nil || !to.Usable() {
		return
	}
	d := to.Domain(v.UID)
	if !d.Active() || d.Current.InstanceID != v.Status.Instance.ID {
		return
	}
	in := v.Mutable().Instance
	from.Release(in)
	if v.InSlot {
		from.View.Starting--
		to.View.Starting++
	}
	in.Host = to.Name
	c.bind(v)
	c.setLeftover(v, from.Name, from.Domain(v.UID).Current != nil)
	c.charge(to, d, v1.Resources{})
	c.notice(v.Ref(), true, "MovedByOutsider", "instance "+in.ID+" was moved from "+from.Name+" to "+to.Name+", not through Holdfast")
	c.touch(v)
}

func (c *Core) decideActive(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	in := v.Status.Instance
	if in.Abandon != nil || in.Phase != v1.PhaseRunning && in.Stop != nil && d.Launched {
		c.again(v, h, d, Command{Kind: CommandDestroy})
		return
	}
	if in.Phase != v1.PhaseRunning {
		if d.Current.State == hypervisor.DomainPaused && d.Current.Why == hypervisor.WhyStartup {
			c.startDeadline(v) // QEMU is there, the guest's first instruction is not yet
			return
		}
		in = v.Mutable().Instance
		in.Phase, in.RunningAt, in.StartDeadline = v1.PhaseRunning, c.now, time.Time{}
		c.setSlot(v)
		c.notice(v.Ref(), false, "Running", "instance "+in.ID+" runs on "+h.Name)
	}
	paused := ""
	if d.Current.State == hypervisor.DomainPaused {
		paused = d.Current.Why
	}
	if in.Paused != paused {
		v.Mutable().Instance.Paused = paused
		if paused != "" {
			c.notice(v.Ref(), true, "Paused", "the guest stands still on "+h.Name+" ("+paused+"); Holdfast neither stops nor resumes it")
		}
	}
	switch stop := v.Status.Instance.Stop; {
	case stop == nil:
	case stop.Force || !c.now.Before(stop.Deadline):
		c.again(v, h, d, Command{Kind: CommandDestroy})
	default:
		c.again(v, h, d, Command{Kind: CommandShutdown})
		until(v, stop.Deadline)
	}
}

// again sends a command to a domain, unless the same was sent a moment ago. It is for the current instance unless it names one.
func (c *Core) again(v *fleet.VM, h *fleet.Host, d *fleet.Domain, cmd Command) {
	if d.AskAgain.After(c.now) && d.Asked == int(cmd.Kind) {
		until(v, d.AskAgain)
		return
	}
	if cmd.Instance == "" {
		cmd.Instance = v.Status.Instance.ID
	}
	pause := tryAgain
	if cmd.Kind == CommandShutdown {
		pause = askAgain
	}
	d.Asked, d.AskAgain = int(cmd.Kind), c.now.Add(pause)
	c.send(v, h, d, cmd)
	until(v, d.AskAgain)
}

// startDeadline gives an instance up that does not get to run in time.
func (c *Core) startDeadline(v *fleet.VM) bool {
	in := v.Status.Instance
	if c.now.Before(in.StartDeadline) {
		until(v, in.StartDeadline)
		return false
	}
	c.abandon(v, v1.PhaseFailed, lifecycle.EndStartTimeout, "libvirt did not report the guest as running within "+v1.Duration(c.startTimeout(v)).String())
	return true
}

// abandon records how the instance ended; it counts when its absence is certain.
func (c *Core) abandon(v *fleet.VM, phase v1.Phase, reason, message string) {
	if v.Status.Instance.Abandon == nil {
		v.Mutable().Instance.Abandon = &v1.End{Phase: phase, Reason: reason, Message: message, EndedAt: c.now}
		c.touch(v)
	}
}

// judge closes an instance that has ended; an unclear one only after its definition is gone.
func (c *Core) judge(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	phase, reason, message := lifecycle.Judge(v.Status.Instance, d.Current, d.Ended, h.DiedWith(v.Status.Instance))
	if v.Status.Instance.Unclear {
		c.abandon(v, phase, reason, message)
		return
	}
	c.end(v, phase, reason, message, d.Current == nil)
}

func (c *Core) decideInactive(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	in := v.Status.Instance
	ran := in.Phase == v1.PhaseRunning || d.Launched || d.Current.Why != hypervisor.WhyUnknown && d.Current.Why != hypervisor.WhyFailed
	if ran && in.Abandon == nil {
		c.judge(v, h, d)
		return
	}
	// It has ended, or is defined and was never started as far as this host knows.
	if in.Stop != nil || in.Abandon != nil {
		c.again(v, h, d, Command{Kind: CommandUndefine, State: v.Deleted})
		return
	}
	if !c.startDeadline(v) {
		c.sendLaunch(v, h, d)
	}
}

func (c *Core) decideAbsent(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	in := v.Status.Instance
	if (in.Phase == v1.PhaseRunning || d.Launched) && in.Abandon == nil {
		c.judge(v, h, d)
		return
	}
	if in.Stop != nil || in.Abandon != nil {
		switch {
		case c.now.Before(c.grace) && in.Phase != v1.PhaseScheduled:
			d.Absences = 0 // a call of the leader before may still arrive: what is seen now is not certain
			until(v, c.grace)
		case in.Phase != v1.PhaseScheduled && d.Absences < absencesForCertain:
			c.look(v, h, d)
		case in.Abandon != nil:
			c.end(v, in.Abandon.Phase, in.Abandon.Reason, in.Abandon.Message, true)
		default:
			c.end(v, v1.PhaseSucceeded, lifecycle.EndNeverStarted, "it was stopped before it had started", true)
		}
		return
	}
	if !c.startDeadline(v) {
		c.sendLaunch(v, h, d)
	}
}

// sendLaunch tells the host to define and create the instance; again after a pause when that did not work.
func (c *Core) sendLaunch(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	if d.AskAgain.After(c.now) && d.Asked == int(CommandLaunch) {
		until(v, d.AskAgain)
		return
	}
	c.setLeftover(v, h.Name, false)
	if v.Status.Instance.Phase == v1.PhaseScheduled {
		v.Mutable().Instance.Phase = v1.PhaseLaunching
	}
	d.Ended = ""
	in := v.Status.Instance
	c.again(v, h, d, Command{Kind: CommandLaunch, VM: key(v), Generation: in.Generation,
		MachineType: v.Status.MachineType, CPUModel: c.cpuModel(v)})
}

// cleanLeftovers removes what ended instances have left on hosts that can be reached.
func (c *Core) cleanLeftovers(v *fleet.VM) {
	in := v.Status.Instance
	for _, name := range v.Status.Leftovers {
		h := c.hosts[name]
		if h == nil {
			c.setLeftover(v, name, false)
			continue
		}
		if !h.Usable() || in != nil && in.Host == name {
			continue // the instance's own host: decideInstance cleans before it launches
		}
		d := h.Domain(v.UID)
		switch {
		case d.InFlight != 0:
		case !d.Seen:
			c.look(v, h, d)
		case d.Current == nil:
			c.setLeftover(v, name, false)
		case v.KeepsState && in == nil && !v.Deleted && !d.Active():
			// Its NVRAM can only be removed through this definition.
		default:
			c.clean(v, h, d)
		}
	}
}

// clean removes a domain that carries an older instance of v.
func (c *Core) clean(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	if v.Quarantine == h.Name {
		return // a person decides
	}
	cmd := Command{Kind: CommandUndefine, Instance: d.Current.InstanceID, State: v.Deleted}
	if d.Active() {
		cmd.Kind = CommandDestroy
		c.notice(v.Ref(), true, "SupersededInstance",
			"instance "+d.Current.InstanceID+" on "+h.Name+" has been superseded and is switched off, so that the VM does not run twice")
	}
	c.setLeftover(v, h.Name, true)
	c.again(v, h, d, cmd)
}

// setLeftover records whether a definition of v may remain on a host.
func (c *Core) setLeftover(v *fleet.VM, host string, there bool) {
	var list []string
	had := false
	for _, name := range v.Status.Leftovers {
		if name == host {
			had = true
		} else {
			list = append(list, name)
		}
	}
	if h := c.hosts[host]; h != nil {
		bound := there || v.Status.Instance != nil && v.Status.Instance.Host == host
		if bound {
			h.Bound[v.UID] = v
		} else {
			delete(h.Bound, v.UID)
			c.forget(h, v.UID)
		}
	}
	if had == there {
		return
	}
	if there {
		list = append(list, host)
	}
	v.Mutable().Leftovers = list
	v.Refine()
}

// send puts a command on its way: it leaves when the writes of this decision are durable.
func (c *Core) send(v *fleet.VM, h *fleet.Host, d *fleet.Domain, cmd Command) {
	c.commandID++
	cmd.ID, cmd.Host, cmd.Epoch, cmd.UUID = c.commandID, h.Name, h.Epoch, d.UUID
	d.InFlight, d.Instance = cmd.ID, cmd.Instance
	if cmd.Kind != CommandLook {
		d.Absences = 0
	}
	c.commands[cmd.ID] = target{h.Name, d.UUID, cmd.Kind}
	u := c.with(v)
	u.Commands = append(u.Commands, cmd)
}

func (c *Core) look(v *fleet.VM, h *fleet.Host, d *fleet.Domain) {
	if d.LookAgain.After(c.now) {
		until(v, d.LookAgain)
		return
	}
	d.LookAgain = c.now.Add(lookAgain)
	c.send(v, h, d, Command{Kind: CommandLook})
}
