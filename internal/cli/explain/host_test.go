package explain

import (
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func TestHost(t *testing.T) {
	host := func(state v1.HostState, message string) *v1.Host {
		return &v1.Host{Metadata: v1.ObjectMeta{Name: "lab-1"}, Status: v1.HostStatus{State: state, Message: message, Since: ago(2 * time.Minute)}}
	}
	cordoned := host(v1.HostUp, "")
	cordoned.Spec.Unschedulable = true
	down := host(v1.HostUnreachable, "libvirt at h1 cannot be reached: no route to host")
	down.Spec.ConfirmedDown = &v1.ConfirmedDown{By: "ann", At: ago(time.Minute)}
	down.Status.LostAt, down.Status.FencedAt = ago(3*time.Minute), ago(time.Minute)
	again := *down
	lostAnew := &again
	lostAnew.Status.LostAt = ago(30 * time.Second)
	removed := host(v1.HostUp, "")
	at := ago(time.Second)
	removed.Metadata.DeletionTimestamp = &at
	for _, c := range []struct {
		name string
		host *v1.Host
		vms  int
		want Answer
	}{
		{"up", host(v1.HostUp, ""), 0, Answer{"Up since 2m ago (19:58:00).", "Its libvirt answers.", "Instances start there as there is room."}},
		{"cordoned", cordoned, 0, Answer{"Up since 2m ago (19:58:00), and cordoned.", "Its libvirt answers; an admin keeps new instances away.",
			`Nothing new starts there, and what runs is left running, until "holdfast host uncordon lab-1".`}},
		{"unreachable", host(v1.HostUnreachable, "libvirt at h1 cannot be reached: no route to host"), 2, Answer{"Unreachable since 2m ago (19:58:00): what runs there is unknown.", "Libvirt at h1 cannot be reached: no route to host.",
			"It is tried again all the time. Until it answers nothing starts there, and what it runs or ran (2 VMs) does not start elsewhere, so that nothing runs twice. If it is down, and you know it: \"holdfast host confirm-down lab-1\"."}},
		{"confirmed down", down, 0, Answer{"Unreachable since 2m ago (19:58:00), and confirmed to be down.",
			"Libvirt at h1 cannot be reached: no route to host. It was confirmed by ann 1m ago (19:59:00) that it is down.",
			"What it ran starts elsewhere, as far as it is wanted on. It is tried again all the time; when it answers and still runs any of it, " +
				`that is switched off at once. If it is gone for good: "holdfast host remove lab-1".`}},
		{"lost anew", lostAnew, 0, Answer{"Unreachable since 2m ago (19:58:00): what runs there is unknown.", "Libvirt at h1 cannot be reached: no route to host.",
			"It is tried again all the time. Until it answers nothing starts there, and what it runs or ran (0 VMs) does not start elsewhere, " +
				`so that nothing runs twice. If it is down, and you know it: "holdfast host confirm-down lab-1".`}},
		{"refused", host(v1.HostRefused, "its host UUID is also that of lab-2"), 0, Answer{"Refused since 2m ago (19:58:00): it answers, and must not be used.",
			"Its host UUID is also that of lab-2.", "Nothing starts there. Remove the cause; the host is judged again within a minute."}},
		{"connecting", &v1.Host{}, 0, Answer{"Connecting.", "It was added, or the control plane started, and its libvirt has not answered yet.",
			"It is Up as soon as it answers. If it does not, it becomes Unreachable, with the reason."}},
		{"being removed", removed, 0, Answer{"Being removed.", "Its removal was asked for 1s ago (19:59:59).",
			"It is gone as soon as nothing of Holdfast's is left on it."}},
	} {
		if got := Host(c.host, c.vms, now); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
