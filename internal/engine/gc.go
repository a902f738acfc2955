package engine

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to four times what is live between collections, where Go's own setting is twice. A storm makes
// garbage at hundreds of MiB a second, most of it etcd's, and collecting it took a fifth of the CPU time of each start; what is
// live is small (about 120 MiB with 20,000 VMs), so that the price is at most 240 MiB more in such a fleet.
const gcPercent = 300

// TuneGC sets up the process for an engine and an embedded store. GOGC in the environment has precedence.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
