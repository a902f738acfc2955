package v1

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Quantity is a number of bytes. In manifests it is a whole number with an optional binary suffix (Ki, Mi, Gi, Ti) or
// decimal one (k, M, G, T), e.g. "2Gi". Zero means "not set".
type Quantity int64

var quantitySuffixes = []struct {
	suffix string
	factor int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
}

// ParseQuantity reads "2Gi", "512Mi", "1500M" or plain bytes. The error says what is wrong and what would be right.
func ParseQuantity(s string) (Quantity, error) {
	digits, factor := s, int64(1)
	for _, x := range quantitySuffixes {
		if d, ok := strings.CutSuffix(s, x.suffix); ok {
			digits, factor = d, x.factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a quantity: write a whole number of bytes with an optional suffix Ki, Mi, Gi, Ti, k, M, G or T, e.g. 2Gi", s)
	}
	if n < 0 {
		return 0, fmt.Errorf("%q is negative: a quantity of bytes is zero or more", s)
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is too large: the most is 8388607Ti", s)
	}
	return Quantity(n * factor), nil
}

// String writes the shortest exact form with a binary suffix.
func (q Quantity) String() string {
	n, suffix := int64(q), ""
	for _, x := range quantitySuffixes[:4] {
		if n == 0 || int64(q)%x.factor != 0 {
			break
		}
		n, suffix = int64(q)/x.factor, x.suffix
	}
	return strconv.FormatInt(n, 10) + suffix
}

// MarshalText implements encoding.TextMarshaler.
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *Quantity) UnmarshalText(b []byte) (err error) {
	*q, err = ParseQuantity(string(b))
	return err
}

// Duration is a length of time, written "30s", "5m", "1h30m". Zero means "not set".
type Duration time.Duration

// ParseDuration reads what time.ParseDuration does, and refuses negative lengths.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write a number with a unit (ms, s, m, h), e.g. 30s", s)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative: a duration is zero or more", s)
	}
	return Duration(d), nil
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
