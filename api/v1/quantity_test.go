package v1

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseQuantity(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Quantity
	}{
		{"0", 0}, {"17", 17}, {"2Gi", 2 << 30}, {"512Mi", 512 << 20}, {"1Ki", 1024}, {"3Ti", 3 << 40},
		{"1k", 1000}, {"1500M", 1_500_000_000}, {"2G", 2_000_000_000}, {"1T", 1_000_000_000_000},
		{"8388607Ti", 8388607 << 40}, {"9223372036854775807", math.MaxInt64}, {"007Mi", 7 << 20},
	} {
		if got, err := ParseQuantity(c.in); err != nil || got != c.want {
			t.Errorf("ParseQuantity(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
}

func TestParseQuantityErrors(t *testing.T) {
	const general = "write a whole number of bytes with an optional suffix Ki, Mi, Gi, Ti, k, M, G or T, e.g. 2Gi"
	for _, c := range []struct{ in, want string }{
		{"", `"" is not a quantity: ` + general},
		{"lots", `"lots" is not a quantity: ` + general},
		{"Gi", `"Gi" is not a quantity: ` + general},
		{"1.2.3Gi", `"1.2.3Gi" is not a quantity: ` + general},
		{"-1", `"-1" is not a quantity: it is negative, and there are no fewer than zero bytes`},
		{"-2Gi", `"-2Gi" is not a quantity: it is negative, and there are no fewer than zero bytes`},
		{"2GB", `"2GB" is not a quantity: write 2G (powers of 1000) or 2Gi (powers of 1024)`},
		{"2gb", `"2gb" is not a quantity: write 2G (powers of 1000) or 2Gi (powers of 1024)`},
		{"2g", `"2g" is not a quantity: write 2G (powers of 1000) or 2Gi (powers of 1024)`},
		{"512K", `"512K" is not a quantity: write 512k (powers of 1000) or 512Ki (powers of 1024)`},
		{"2GiB", `"2GiB" is not a quantity: write 2Gi`},
		{"2gi", `"2gi" is not a quantity: write 2Gi`},
		{"2 Gi", `"2 Gi" is not a quantity: write 2Gi`},
		{"+2Gi", `"+2Gi" is not a quantity: write 2Gi`},
		{"1.5Gi", `"1.5Gi" is not a quantity: write 1536Mi`},
		{"0.5G", `"0.5G" is not a quantity: write 500M`},
		{"1.5GB", `"1.5GB" is not a quantity: write 1500M (powers of 1000) or 1536Mi (powers of 1024)`},
		{"1.5Ki", `"1.5Ki" is not a quantity: write 1536`},
		{"1.5", `"1.5" is not a quantity: write a whole number of bytes, or use a suffix: Ki, Mi, Gi, Ti, k, M, G or T`},
		{"1e3", `"1e3" is not a quantity: there is no unit "e3"; the suffixes are Ki, Mi, Gi, Ti, k, M, G and T`},
		{"2Pi", `"2Pi" is not a quantity: there is no unit "Pi"; the suffixes are Ki, Mi, Gi, Ti, k, M, G and T`},
		{"8388608Ti", `"8388608Ti" is too large: the most is 8388607Ti`},
		{"99999999999999999999", `"99999999999999999999" is too large: the most is 8388607Ti`},
	} {
		if got, err := ParseQuantity(c.in); err == nil || err.Error() != c.want {
			t.Errorf("ParseQuantity(%q) = %d, %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"30s", "30s"}, {"60s", "1m"}, {"90m", "1h30m"}, {"1h0m0s", "1h"}, {"24h", "24h"}, {"100ms", "100ms"}, {"0", "0s"}, {"1h10m", "1h10m"},
	} {
		if got, err := ParseDuration(c.in); err != nil || got.String() != c.want {
			t.Errorf("ParseDuration(%q) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ in, want string }{
		{"30", `"30" is not a duration: it has no unit; write 30s for seconds`},
		{"1d", `"1d" is not a duration: write 24h`},
		{"soon", `"soon" is not a duration: write a number with a unit (ms, s, m, h), e.g. 30s`},
		{"-5s", `"-5s" is negative: a duration is zero or more`},
		{"9999999h", `"9999999h" is not a duration: write a number with a unit (ms, s, m, h), e.g. 30s`},
	} {
		if got, err := ParseDuration(c.in); err == nil || err.Error() != c.want {
			t.Errorf("ParseDuration(%q) = %s, %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

func TestQuantityAndDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.IntRange(0, 62).Draw(t, "shift")
		q := Quantity(rapid.Int64Range(0, math.MaxInt64>>shift).Draw(t, "number") << shift)
		if got, err := ParseQuantity(q.String()); err != nil || got != q {
			t.Fatalf("%d is written %q and read as %d, %v", int64(q), q, got, err)
		}
		d := Duration(rapid.Int64Min(0).Draw(t, "duration"))
		if rapid.Bool().Draw(t, "whole minutes") {
			d -= d % (60 * 1e9)
		}
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("%d is written %q and read as %d, %v", int64(d), d, got, err)
		}
	})
}
