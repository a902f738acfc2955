package describe

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/cli/explain"
	"github.com/holdfast-vm/holdfast/internal/cli/human"
)

// VM writes the page about a virtual machine. events are those about it, the newest last.
func VM(w io.Writer, vm *v1.VirtualMachine, events []v1.Event, view explain.View) error {
	p, now := &page{w: w}, view.Now
	p.field("Name", "%s", vm.Metadata.Name)
	p.field("Namespace", "%s", vm.Metadata.Namespace)
	p.answer(explain.VM(vm, view))
	p.flush("")

	p.section("Object", func(p *page) {
		metadata(p, &vm.Metadata, now)
		p.field("Run strategy", "%s", vm.Spec.EffectiveRunStrategy())
		p.field("Start timeout", "%s", orCluster(vm.Spec.StartTimeout))
		p.field("Stop grace period", "%s", orCluster(vm.Spec.StopGracePeriod))
		p.field("Host selector", "%s", labels(vm.Spec.Placement.HostSelector))
	})
	p.section("Template", func(p *page) { template(p, &vm.Spec.Template, vm) })
	p.section("Instance", func(p *page) { instance(p, vm.Status.Instance, now) })
	p.section("Off and on", func(p *page) { wishes(p, &vm.Status, now) })
	p.section("Failures", func(p *page) { crashLoop(p, vm.Status.CrashLoop, now) })
	p.section("How the last instances ended", func(p *page) { history(p, vm.Status.History, now) })
	p.section("Conditions", func(p *page) { conditions(p, vm.Status.Conditions, now) })
	p.section("Leftovers", func(p *page) {
		for _, h := range vm.Status.Leftovers {
			p.line("A definition of an ended instance may remain on " + h + "; it is removed when the host answers.")
		}
	})
	p.section("Events", func(p *page) { eventRows(p, events, now) })
	return p.err
}

func metadata(p *page, m *v1.ObjectMeta, now time.Time) {
	p.field("UID", "%s", m.UID)
	p.field("Created", "%s", human.Ago(m.CreationTimestamp, now))
	p.field("Labels", "%s", labels(m.Labels))
	p.field("Annotations", "%s", labels(m.Annotations))
	p.field("Generation", "%d", m.Generation)
}

func instance(p *page, i *v1.Instance, now time.Time) {
	if i == nil {
		return
	}
	p.field("ID", "%s", i.ID)
	p.field("Host", "%s", i.Host)
	p.field("Phase", "%s", i.Phase)
	p.field("Promised", "%s", human.Ago(i.CreatedAt, now))
	if !i.StartDeadline.IsZero() && i.RunningAt.IsZero() {
		p.field("Start deadline", "%s", human.By(i.StartDeadline, now))
	}
	if !i.RunningAt.IsZero() {
		p.field("Running since", "%s", human.Ago(i.RunningAt, now))
	}
	if i.Resets > 0 {
		p.field("Resets", "%d, the last %s", i.Resets, human.Ago(i.LastResetAt, now))
	}
	p.field("Takes", "%s of memory, vCPUs: %d", human.Bytes(i.Memory), i.VCPUs)
	p.field("Generation", "%d", i.Generation)
	p.field("Paused", "%s", i.Paused)
	if s := i.Stop; s != nil {
		how := "the guest is asked, and switched off at " + human.By(s.Deadline, now)
		if s.Force {
			how = "by force"
		}
		p.field("Ending", "%s%s, %s; %s", strings.ToLower(s.Reason), byWhom(s.By), human.Ago(s.At, now), how)
	}
	if a := i.Abandon; a != nil {
		p.field("Abandoned", "%s: %s", a.Reason, a.Message)
	}
}

// wishes are what people asked for, and what the VM waits for.
func wishes(p *page, st *v1.VirtualMachineStatus, now time.Time) {
	if h := st.Hold; h != nil {
		p.field("Hold", "stopped%s, %s", byWhom(h.By), human.Ago(h.At, now))
	}
	if r := st.Run; r != nil {
		p.field("Run", "started%s, %s", byWhom(r.By), human.Ago(r.At, now))
	}
	if f := st.Finished; f != nil {
		p.field("Finished", "instance %s ended %s: %s", f.Instance, human.Ago(f.At, now), f.Reason)
	}
	if w := st.Waiting; w != nil {
		p.field("Waiting", "%s, since %s: %s", w.Reason, human.Ago(w.Since, now), w.Message)
	}
}

func crashLoop(p *page, c *v1.CrashLoop, now time.Time) {
	if c == nil {
		return
	}
	p.field("In a row", "%d", c.ConsecutiveFailures)
	p.field("Last", "%s on %s, %s: %s", c.LastFailure.Reason, c.LastFailure.Host, human.Ago(c.LastFailure.EndedAt, now), c.LastFailure.Message)
	if c.RetryAt.After(now) {
		p.field("Next try", "%s", human.In(c.RetryAt, now))
	}
}

func history(p *page, ends []v1.End, now time.Time) {
	rows := make([][]string, len(ends))
	for i, e := range ends {
		ran := "never ran"
		if !e.RunningAt.IsZero() {
			ran = human.Short(e.EndedAt.Sub(e.RunningAt))
		}
		rows[i] = []string{human.Ago(e.EndedAt, now), ran, e.Host, string(e.Phase), e.Reason, e.Message}
	}
	p.rows([]string{"ENDED", "RAN FOR", "HOST", "PHASE", "REASON", "MESSAGE"}, rows)
}

func conditions(p *page, all []v1.Condition, now time.Time) {
	rows := make([][]string, len(all))
	for i, c := range all {
		rows[i] = []string{c.Type, c.Status, human.Age(c.LastTransitionTime, now), c.Reason, c.Message}
	}
	p.rows([]string{"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}, rows)
}

// mostEvents is how many events a page shows: the newest ones.
const mostEvents = 20

func eventRows(p *page, events []v1.Event, now time.Time) {
	older := max(0, len(events)-mostEvents)
	var rows [][]string
	for _, e := range events[older:] {
		rows = append(rows, []string{human.Age(e.LastAt, now), fmt.Sprint(e.Count), e.Type, e.Reason, e.Message})
	}
	if older > 0 {
		p.line(fmt.Sprintf("(%d older ones are left out)", older))
	}
	p.rows([]string{"LAST SEEN", "COUNT", "TYPE", "REASON", "MESSAGE"}, rows)
}

func labels(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+"="+m[k])
	}
	return strings.Join(parts, ", ")
}

func orCluster(d v1.Duration) string {
	if d == 0 {
		return "the cluster's default"
	}
	return d.String()
}

func byWhom(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}
