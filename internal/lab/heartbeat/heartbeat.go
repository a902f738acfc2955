// Package heartbeat reads what the test guest (hack/guest/init) left on its disk and on its serial line, and says who ran,
// when, and whether two ran at once. It is the witness for "no guest had two writers, none was restarted": it looks at nothing
// that Holdfast or libvirt say.
//
// On disk, the guest writes one record a second, each in the next sector; before each it checks that its last record is still
// there and that nothing stands behind it. So records of one boot stand together, and a boot's record behind another boot's
// later ones means that both were running.
package heartbeat

import (
	"fmt"
	"time"
)

// Log is what one disk or one serial log tells. The zero value is of a guest that never ran.
type Log struct {
	// Boots in the order in which they began. A live migration goes on with the same boot.
	Boots []Boot
	// Conflicts are the signs that two guests wrote at once; none means that there was one writer at any time.
	Conflicts []Conflict
}

// Boot is one run of a guest's kernel.
type Boot struct {
	// ID is the kernel's random boot id.
	ID string
	// VM is the machine's SMBIOS UUID, in lower case; "unknown" when it has none.
	VM string
	// Up is true when the guest said that it is up. A disk shows only guests that were.
	Up bool
	// Beats is how many heartbeats there are, Last the number of the last: they count from 1, a second apart.
	Beats, Last int
	// From and To are the guest's clock at its first and last heartbeat, to the second; zero in a serial log.
	From, To time.Time
	// Gaps are where heartbeats are missing or late.
	Gaps []Gap
	// Ended is how the guest said that it goes: "off", "reboot" or "panic"; empty when it did not say, as on a disk.
	Ended string
}

// Gap is a pause in a boot's heartbeat: the guest stood still, or what it wrote was lost.
type Gap struct {
	// After is the number of the heartbeat before it.
	After int
	// Missing heartbeats, when the numbers jump.
	Missing int
	// Pause is the time between the heartbeats around it, by the guest's clock; zero in a serial log.
	Pause time.Duration
}

// Conflict is a sign of two writers.
type Conflict struct {
	// Where is the sector of the disk, or the line of the log, counting from 0.
	Where int
	// Boot is who wrote there, Other whom it ran into.
	Boot, Other string
	// Seen by the guest itself; else concluded from the order of the records.
	Seen bool
}

func (c Conflict) String() string {
	if c.Seen {
		return fmt.Sprintf("boot %s found writings of boot %s (at %d)", c.Boot, c.Other, c.Where)
	}
	return fmt.Sprintf("boot %s wrote after boot %s had begun (at %d)", c.Boot, c.Other, c.Where)
}

// Running returns the boot that the log ends with; false when no guest ran.
func (l Log) Running() (Boot, bool) {
	if len(l.Boots) == 0 {
		return Boot{}, false
	}
	return l.Boots[len(l.Boots)-1], true
}

// maxPause is the longest time between two heartbeats that is not a gap: each takes a second and what its writing takes, on a
// busy machine more.
const maxPause = 5 * time.Second

// boot finds the boot of that id, or begins it.
func (l *Log) boot(id, vm string) *Boot {
	for i := range l.Boots {
		if l.Boots[i].ID == id {
			return &l.Boots[i]
		}
	}
	l.Boots = append(l.Boots, Boot{ID: id, VM: vm})
	return &l.Boots[len(l.Boots)-1]
}

// beat counts a heartbeat; at is zero when the time is not known.
func (b *Boot) beat(number int, at time.Time) {
	gap := Gap{After: b.Last, Missing: number - b.Last - 1}
	if !at.IsZero() && !b.To.IsZero() {
		gap.Pause = at.Sub(b.To)
	}
	// What was before the first heartbeat that is left is not known to be missing.
	if b.Beats > 0 && (gap.Missing > 0 || gap.Pause > maxPause) {
		b.Gaps = append(b.Gaps, gap)
	}
	if b.Beats == 0 {
		b.From = at
	}
	b.To, b.Last = at, number
	b.Beats++
}
