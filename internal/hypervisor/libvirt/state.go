package libvirt

import (
	"strconv"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// The reasons of each state, by libvirt's number (enum virDomain*Reason in libvirt-domain.h), as virsh spells them; where the
// port has a word, it is that.
var (
	runningWhy = []string{hypervisor.WhyUnknown, "booted", "migrated", "restored", "from-snapshot", "unpaused", "migration-canceled",
		"save-canceled", "event-wakeup", "crashed", "post-copy", "post-copy-failed"}
	pausedWhy = []string{hypervisor.WhyUnknown, hypervisor.WhyUser, hypervisor.WhyIncoming, "save", "dump", hypervisor.WhyIOError,
		"watchdog", "from-snapshot", "shutting-down", "snapshot", hypervisor.WhyCrashed, hypervisor.WhyStartup, "post-copy",
		"post-copy-failed", "api-error"}
	shutoffWhy = []string{hypervisor.WhyUnknown, hypervisor.WhyShutdown, hypervisor.WhyDestroyed, hypervisor.WhyCrashed,
		hypervisor.WhyMigrated, hypervisor.WhySaved, hypervisor.WhyFailed, "from-snapshot", "daemon"}
)

// stateOf translates libvirt's state and reason. A guest that is shutting down runs until it is off. A crashed domain that is kept
// for inspection (nobody of us asks for that) still holds its room.
func stateOf(state, reason int32) (hypervisor.DomainState, string) {
	switch golibvirt.DomainState(state) {
	case golibvirt.DomainShutoff:
		return hypervisor.DomainInactive, word(shutoffWhy, reason)
	case golibvirt.DomainPaused:
		return hypervisor.DomainPaused, word(pausedWhy, reason)
	case golibvirt.DomainPmsuspended:
		return hypervisor.DomainPaused, "pmsuspended"
	case golibvirt.DomainCrashed:
		return hypervisor.DomainPaused, hypervisor.WhyCrashed
	case golibvirt.DomainShutdown:
		return hypervisor.DomainRunning, "shutting-down"
	default:
		return hypervisor.DomainRunning, word(runningWhy, reason)
	}
}

// word is the reason's word; a reason newer than this table is passed on as its number.
func word(words []string, reason int32) string {
	if reason >= 0 && int(reason) < len(words) {
		return words[reason]
	}
	return "reason-" + strconv.Itoa(int(reason))
}
