package human

import (
	"testing"
	"time"
)

func TestShort(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0s"},
		{0, "0s"},
		{1400 * time.Millisecond, "1s"},
		{59600 * time.Millisecond, "1m"},
		{130 * time.Second, "2m10s"},
		{9*time.Minute + 59*time.Second, "9m59s"},
		{15*time.Minute + 59*time.Second, "15m"},
		{time.Hour, "1h"},
		{3*time.Hour + 20*time.Minute, "3h20m"},
		{24 * time.Hour, "1d"},
		{50 * time.Hour, "2d2h"},
		{400 * 24 * time.Hour, "400d"},
	} {
		if got := Short(c.d); got != c.want {
			t.Errorf("Short(%s) = %q, want %q", c.d, got, c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.FixedZone("CET", 3600))
	for got, want := range map[string]string{
		Ago(now.Add(-90*time.Second), now):                         "1m30s ago (19:58:30)",
		Ago(now.Add(-90*time.Second).UTC(), now):                   "1m30s ago (19:58:30)",
		Ago(now.Add(-24*time.Hour), now):                           "1d ago (2026-11-29 20:00:00)",
		In(now.Add(2*time.Minute), now):                            "in 2m (20:02:00)",
		In(now.Add(5*time.Hour), now):                              "in 5h (2026-12-01 01:00:00)",
		In(now.Add(-time.Minute), now):                             "now (due since 19:59:00)",
		By(now.Add(2*time.Minute), now):                            "20:02:00, in 2m",
		By(now, now):                                               "20:00:00, overdue",
		Age(now.Add(-time.Minute), now):                            "1m",
		Ago(time.Time{}, now):                                      "at an unknown time",
		Age(time.Time{}, now):                                      "-",
		Clock(time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC), now): "19:00:00",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
