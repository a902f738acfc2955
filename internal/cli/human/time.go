package human

import (
	"fmt"
	"time"
)

// Short is a length in at most two units: "0s", "42s", "2m10s", "15m", "3h20m", "4d". Negative lengths count as zero.
func Short(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 10*time.Minute:
		return two(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	case d < 10*24*time.Hour:
		return two(d/(24*time.Hour), "d", d%(24*time.Hour)/time.Hour, "h")
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

func two(major time.Duration, majorUnit string, minor time.Duration, minorUnit string) string {
	if minor == 0 {
		return fmt.Sprintf("%d%s", major, majorUnit)
	}
	return fmt.Sprintf("%d%s%d%s", major, majorUnit, minor, minorUnit)
}

// Age is how long ago t was, for the AGE column; "-" for the zero time.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Short(now.Sub(t))
}

// Clock is the time of day of t where now is; with the date when that is another day than now's.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// Ago is a moment in the past: "3m ago (20:04:11)"; of the zero time nobody knows.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	return fmt.Sprintf("%s ago (%s)", Short(now.Sub(t)), Clock(t, now))
}

// In is a moment to come: "in 3m (20:04:11)"; one that has passed is "now (due since 20:04:11)".
func In(t, now time.Time) string {
	if !t.After(now) {
		return fmt.Sprintf("now (due since %s)", Clock(t, now))
	}
	return fmt.Sprintf("in %s (%s)", Short(t.Sub(now)), Clock(t, now))
}

// By is a deadline: "20:04:11, in 3m"; one that has passed is "20:04:11, overdue".
func By(t, now time.Time) string {
	if !t.After(now) {
		return Clock(t, now) + ", overdue"
	}
	return fmt.Sprintf("%s, in %s", Clock(t, now), Short(t.Sub(now)))
}
