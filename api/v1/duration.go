package v1

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written "30s", "5m", "1h30m". Zero means "not set".
type Duration time.Duration

// ParseDuration reads what time.ParseDuration does, and refuses negative lengths. The error says what would be right.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: %s", s, durationRemedy(s))
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative: a duration is zero or more", s)
	}
	return Duration(d), nil
}

func durationRemedy(s string) string {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return fmt.Sprintf("it has no unit; write %ds for seconds", n)
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return fmt.Sprintf("write %dh", n*24)
		}
	}
	return "write a number with a unit (ms, s, m, h), e.g. 30s"
}

// Std is the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the form ParseDuration reads, without zero parts ("5m", not "5m0s").
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}
