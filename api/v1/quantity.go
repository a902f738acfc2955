package v1

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Quantity is a number of bytes. In manifests it is a whole number with an optional binary suffix (Ki, Mi, Gi, Ti) or
// decimal one (k, M, G, T), e.g. "2Gi". Zero means "not set".
type Quantity int64

var quantitySuffixes = []struct {
	suffix string
	factor int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
}

// ParseQuantity reads "2Gi", "512Mi", "1500M" or plain bytes. The error says what is wrong and what would be right.
func ParseQuantity(s string) (Quantity, error) {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	for _, x := range quantitySuffixes {
		if digits == "" || s[len(digits):] != x.suffix {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/x.factor {
			return 0, fmt.Errorf("%q is too large: the most is 8388607Ti", s)
		}
		return Quantity(n * x.factor), nil
	}
	return 0, fmt.Errorf("%q is not a quantity: %s", s, quantityRemedy(s))
}

// quantityRemedy guesses what was meant by something that is no quantity.
func quantityRemedy(s string) string {
	number, unit := s, ""
	if i := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.,+-", r) }); i >= 0 {
		number, unit = strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
	}
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return "write a whole number of bytes with an optional suffix Ki, Mi, Gi, Ti, k, M, G or T, e.g. 2Gi"
	case value < 0:
		return "it is negative, and there are no fewer than zero bytes"
	}
	for i, x := range quantitySuffixes[:4] {
		decimal := quantitySuffixes[i+4]
		letter := strings.ToLower(decimal.suffix)
		switch strings.ToLower(unit) {
		case letter + "ib", letter + "i":
			return "write " + wholeQuantity(value, number, x.suffix, x.factor)
		case letter + "b", letter:
			if unit != decimal.suffix { // "2GB": nobody can know which of the two was meant
				return "write " + wholeQuantity(value, number, decimal.suffix, decimal.factor) + " (powers of 1000) or " +
					wholeQuantity(value, number, x.suffix, x.factor) + " (powers of 1024)"
			}
			return "write " + wholeQuantity(value, number, decimal.suffix, decimal.factor)
		}
	}
	if unit == "" {
		return "write a whole number of bytes, or use a suffix: Ki, Mi, Gi, Ti, k, M, G or T"
	}
	return fmt.Sprintf("there is no unit %q; the suffixes are Ki, Mi, Gi, Ti, k, M, G and T", unit)
}

// wholeQuantity writes value·factor without a fraction: as number with the suffix where it has none, else with a smaller unit.
func wholeQuantity(value float64, number, suffix string, factor int64) string {
	if value == math.Trunc(value) && value < 1e15 {
		return strconv.FormatFloat(value, 'f', 0, 64) + suffix
	}
	bytes := value * float64(factor)
	if bytes >= 1<<62 {
		return "a whole number instead of " + number
	}
	step := int64(1 << 10)
	if !strings.HasSuffix(suffix, "i") {
		step = 1000
	}
	for i := len(quantitySuffixes) - 1; i >= 0; i-- {
		x := quantitySuffixes[i]
		if x.factor*step == factor && x.factor > 1 {
			return strconv.FormatFloat(math.Round(bytes/float64(x.factor)), 'f', 0, 64) + x.suffix
		}
	}
	return strconv.FormatFloat(math.Round(bytes), 'f', 0, 64)
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
