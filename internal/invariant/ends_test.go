package invariant

import (
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// ended is a log of a VM whose instance i1 ran on h1, ended as told, and is on record with the reason.
func ended(why string, by Cause, reason string, and ...func(l *logbook)) func(l *logbook) {
	return func(l *logbook) {
		l.vm("a", nil)
		l.launch("h1", "a", "i1")
		l.ends("h1", "a", "i1", why, by, "")
		for _, what := range and {
			what(l)
		}
		s := endedAs("i1", reason, waiting)
		s.History[0].Host, s.History[0].EndedAt = "h1", l.now
		l.status("a", s)
		l.add(End{Quiescent: true})
	}
}

func down(l *logbook)    { l.add(Fault{Host: "h1", What: "no power", Down: true}) }
func forgets(l *logbook) { l.add(Fault{Host: "h1", What: "libvirtd restarts", Forgets: true}) }
func later(l *logbook)   { l.wait(time.Hour) }

// endStories are about how ends are told apart, and about hosts that are said to be down.
var endStories = []story{
	{"a shutdown by the guest", ended("shutdown", ByGuest, "GuestShutdown"), ""},
	{"a crash that is called a shutdown", ended("crashed", ByGuest, "GuestShutdown"), "EndsToldApart a"},
	{"a shutdown that is called a crash", ended("shutdown", ByGuest, "Crashed"), "EndsToldApart a"},
	{"a shutdown by the host that is called the guest's", ended("shutdown", ByPower, "GuestShutdown", down), "EndsToldApart a"},
	{"a shutdown by the host", ended("shutdown", ByPower, "HostDown", down), ""},
	{"saved by the host, and called an outsider's", ended("saved", ByPower, "EndedByOutsider", down), "EndsToldApart a"},
	{"a shutdown by the guest just before its host goes down", ended("shutdown", ByGuest, "HostDown", down), ""},
	{"a shutdown by the guest long before its host goes down", ended("shutdown", ByGuest, "HostDown", later, down), "EndsToldApart a"},
	{"a shutdown that is blamed on a host that stayed up", ended("shutdown", ByGuest, "HostDown"), "EndsToldApart a"},
	{"an outsider's end", ended("destroyed", ByOutsider, "EndedByOutsider"), ""},
	{"a crash that is called an outsider's", ended("crashed", ByGuest, "EndedByOutsider"), "EndsToldApart a"},
	{"nobody asked for it", ended("crashed", ByGuest, "AsRequested"), "EndsToldApart a"},
	{"the host has forgotten", ended("shutdown", ByGuest, "EndUnknown", forgets), ""},
	{"the host knows, and nobody looks", ended("shutdown", ByGuest, "EndUnknown"), "EndsToldApart a"},
	{"nobody said that the host is down", ended("crashed", ByGuest, "HostLost"), "EndsToldApart a"},

	{"after a false word a VM runs twice until its host is back", func(l *logbook) {
		l.vm("a", nil)
		l.launch("h1", "a", "i1")
		l.add(Fault{Host: "h1", What: "somebody says that it is down", Lie: true})
		l.status("a", endedAs("i1", "HostLost", waiting))
		l.launch("h2", "a", "i2")
		l.add(Sample{})
		l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
	}, ""},
	{"after a true word a VM runs twice", func(l *logbook) {
		l.vm("a", nil)
		l.launch("h1", "a", "i1")
		l.add(Fault{Host: "h1", What: "somebody says that it is down"})
		l.status("a", endedAs("i1", "HostLost", waiting))
		l.launch("h2", "a", "i2")
	}, "OneInstance a"},
	{"after a false word a VM runs twice when its host has been back for long", func(l *logbook) {
		l.vm("a", nil)
		l.launch("h1", "a", "i1")
		l.add(Fault{Host: "h1", What: "somebody says that it is down", Lie: true})
		l.status("a", endedAs("i1", "HostLost", waiting))
		l.launch("h2", "a", "i2")
		l.wait(time.Minute)
		l.hostIsBack("h1")
		l.wait(time.Hour)
		l.add(Sample{LeaderFor: time.Hour})
	}, "OneInstance a"},
	{"an outsider starts an older instance, which is switched off", func(l *logbook) {
		l.vm("a", nil)
		l.launch("h1", "a", "i1")
		l.ends("h1", "a", "i1", "crashed", ByGuest, "")
		l.status("a", endedAs("i1", "Crashed", waiting))
		l.launch("h2", "a", "i2")
		l.domain("h1", "a", "i1", "Running", "booted", ByOutsider, "")
		l.ends("h1", "a", "i1", "destroyed", ByCall, "destroy")
	}, ""},
	{"two guests of a Once VM run, and its statuses say nothing of the first", func(l *logbook) {
		l.strategy("a", v1.RunOnce)
		l.status("a", instanceOn("h1", "i1", v1.PhaseLaunching))
		l.runs("h1", "a", "i1")
		l.ends("h1", "a", "i1", "crashed", ByGuest, "")
		l.status("a", endedAs("i1", "StartFailed", runWanted, waiting))
		l.launch("h1", "a", "i2")
	}, "ActionsOnce a"},
}
