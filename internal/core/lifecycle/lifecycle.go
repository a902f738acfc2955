// Package lifecycle holds the rules of a VM's life: when it should run, how an instance's end is judged, and how long the next try
// waits. Each is a function of plain values, so that the tables of docs/concepts.md are tests here.
package lifecycle

import (
	"fmt"
	"hash/fnv"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// The reasons in v1.End.
const (
	EndAsRequested    = "AsRequested"
	EndGuestShutdown  = "GuestShutdown"
	EndHostDown       = "HostDown"
	EndHostLost       = "HostLost"
	EndCrashed        = "Crashed"
	EndStartFailed    = "StartFailed"
	EndStartTimeout   = "StartTimeout"
	EndedByOutsider   = "EndedByOutsider"
	EndUnknown        = "EndUnknown"
	EndNeverStarted   = "NeverStarted"
	endedShutdownHost = "shutdown-host"
)

// WantsOn reports whether the VM should have an instance.
func WantsOn(strategy v1.RunStrategy, st *v1.VirtualMachineStatus) bool {
	switch {
	case st.Hold != nil:
		return false
	case strategy == v1.RunAlways:
		return true
	case strategy == v1.RunRerunOnFailure:
		return st.Finished == nil
	case strategy == v1.RunManual, strategy == v1.RunOnce:
		return st.Run != nil
	}
	return false
}

// Ran reports whether an end with that reason is the end of a guest that ran, as far as is known.
func Ran(reason string) bool {
	return reason != EndStartFailed && reason != EndStartTimeout && reason != EndNeverStarted
}

// OfHost reports whether an end was the host's, so that it says nothing about the VM and is no reason to back off.
func OfHost(reason string) bool { return reason == EndHostDown || reason == EndHostLost }

// Clean reports whether the guest ended as its owner or its host's admin wished, and not because Holdfast was asked.
func Clean(e v1.End) bool { return e.Reason == EndGuestShutdown || e.Reason == EndedByOutsider }

// Retries reports whether a new instance follows an end that nobody asked for.
func Retries(strategy v1.RunStrategy, phase v1.Phase, reason string) bool {
	switch strategy {
	case v1.RunAlways:
		return true
	case v1.RunRerunOnFailure:
		return phase == v1.PhaseFailed
	case v1.RunOnce:
		return !Ran(reason)
	}
	return false
}

// Judge says how an instance that is seen inactive (or gone: d nil) has ended. ended is what a live event told, empty when
// none did; hostDown says that its host was booted since it ran. The instance is running or was being launched.
func Judge(in *v1.Instance, d *hypervisor.Domain, ended string, hostDown bool) (phase v1.Phase, reason, message string) {
	switch {
	case in.Stop != nil:
		return v1.PhaseSucceeded, EndAsRequested, stopMessage(in.Stop)
	case hostDown:
		return v1.PhaseFailed, EndHostDown, "the host was rebooted or lost its power while the guest ran"
	}
	if d == nil {
		return v1.PhaseFailed, EndUnknown, "the domain is gone from the host: somebody removed it, or the host lost it"
	}
	switch d.Why {
	case hypervisor.WhyShutdown:
		if ended == endedShutdownHost {
			return v1.PhaseFailed, EndHostDown, "QEMU was told to end by the host (SIGTERM)"
		}
		return v1.PhaseSucceeded, EndGuestShutdown, "the guest shut itself down"
	case hypervisor.WhyCrashed:
		return v1.PhaseFailed, EndCrashed, "the guest crashed, or QEMU did (libvirt: shut off, crashed)"
	case hypervisor.WhyFailed:
		return v1.PhaseFailed, EndStartFailed, "QEMU could not start it (libvirt: shut off, failed)"
	case hypervisor.WhyDestroyed, hypervisor.WhySaved:
		return v1.PhaseSucceeded, EndedByOutsider, "somebody ended it on the host, not through Holdfast (libvirt: shut off, " + d.Why + ")"
	}
	return v1.PhaseFailed, EndUnknown, "the host does not know how it ended (libvirt: shut off, " + d.Why + ")"
}

func stopMessage(s *v1.StopRequest) string {
	what := map[string]string{
		v1.StopReasonStop: "stopped", v1.StopReasonRestart: "stopped for a restart",
		v1.StopReasonDelete: "stopped because the VM is being deleted", v1.StopReasonHalted: "stopped because the run strategy is Halted",
	}[s.Reason]
	if s.By != "" {
		what += ", asked for by " + s.By
	}
	return what
}

// Defaults of v1.CrashLoopPolicy.
const (
	DefaultInitialDelay = 10 * time.Second
	DefaultMaxDelay     = 5 * time.Minute
	DefaultMinUptime    = time.Minute
)

// Policy is a v1.CrashLoopPolicy with its defaults filled in.
type Policy struct{ Initial, Max, MinUptime time.Duration }

// PolicyOf fills in the defaults.
func PolicyOf(p v1.CrashLoopPolicy) Policy {
	or := func(d v1.Duration, def time.Duration) time.Duration {
		if d == 0 {
			return def
		}
		return d.Std()
	}
	return Policy{or(p.InitialDelay, DefaultInitialDelay), or(p.MaxDelay, DefaultMaxDelay), or(p.MinUptime, DefaultMinUptime)}
}

// Delay is how long the next try waits after the n-th failure in a row (n ≥ 1): initial·2^(n-1), at most max, ±20 % by a hash of
// the VM's uid and n, so that VMs that failed together do not come back together and yet every replay agrees.
func (p Policy) Delay(uid string, n int) time.Duration {
	d := p.Max
	if shift := n - 1; shift < 32 && p.Initial<<shift < p.Max && p.Initial<<shift>>shift == p.Initial {
		d = p.Initial << shift
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", uid, n)
	const steps = 4001 // -20.00 % … +20.00 %
	spread := int64(h.Sum64()%steps) - steps/2
	return d + time.Duration(int64(d)/10000*spread)
}

// Counts reports whether an instance that nobody asked to end, and that ended at the given time, was short-lived: its VM backs off.
// A clean end counts too, because a guest that powers itself off right after each boot thrashes like one that crashes.
func (p Policy) Counts(in *v1.Instance, at time.Time) bool {
	return in.RunningAt.IsZero() || at.Sub(in.RunningAt) < p.MinUptime
}
