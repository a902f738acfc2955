package etcd

import "testing"

func TestWorthRewriting(t *testing.T) {
	const mib, quota = 1 << 20, 2000 << 20
	for _, tc := range []struct {
		name        string
		size, inUse int64
		leaderless  bool
		want        bool
	}{
		{"small", 60 * mib, 1 * mib, true, false},
		{"well used", 500 * mib, 300 * mib, true, false},
		{"quickly done", 500 * mib, 90 * mib, false, true},
		{"would end a term", 1000 * mib, 400 * mib, false, false},
		{"at start", 1000 * mib, 400 * mib, true, true},
		{"near the quota", 1700 * mib, 400 * mib, false, true},
		{"near the quota and well used", 1700 * mib, 1600 * mib, false, false},
	} {
		if got := worthRewriting(tc.size, tc.inUse, quota, tc.leaderless); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
