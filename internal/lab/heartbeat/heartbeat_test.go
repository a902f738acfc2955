package heartbeat

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// image is a disk with these records, each given as "BOOT N T [conflict=…]", and an empty rest.
func image(records ...string) string {
	var b strings.Builder
	for _, r := range records {
		w := strings.Fields(r)
		what := "beat"
		if len(w) == 4 {
			what = w[3]
		}
		fmt.Fprintf(&b, "%-511s\n", fmt.Sprintf("HFBEAT1 boot=%s n=%s t=%s vm=v %s", w[0], w[1], w[2], what))
	}
	return b.String() + strings.Repeat("\x00", 4*sectorSize)
}

func TestDisk(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	tests := []struct {
		name    string
		records []string
		want    Log
	}{
		{"never ran", nil, Log{}},
		{"one boot", []string{"a 1 100", "a 2 101", "a 3 102"},
			Log{Boots: []Boot{{ID: "a", VM: "v", Up: true, Beats: 3, Last: 3, From: at(100), To: at(102)}}}},
		{"a restart is no conflict", []string{"a 1 100", "a 2 101", "b 1 110"},
			Log{Boots: []Boot{
				{ID: "a", VM: "v", Up: true, Beats: 2, Last: 2, From: at(100), To: at(101)},
				{ID: "b", VM: "v", Up: true, Beats: 1, Last: 1, From: at(110), To: at(110)}}}},
		{"an old boot writes again", []string{"a 1 100", "b 1 101", "a 2 102"},
			Log{Boots: []Boot{
				{ID: "a", VM: "v", Up: true, Beats: 2, Last: 2, From: at(100), To: at(102)},
				{ID: "b", VM: "v", Up: true, Beats: 1, Last: 1, From: at(101), To: at(101)}},
				Conflicts: []Conflict{{Where: 2, Boot: "a", Other: "b"}}}},
		{"a guest saw another, whose record it wrote over", []string{"a 1 100", "a 2 101 conflict=b", "a 2 101"},
			Log{Boots: []Boot{{ID: "a", VM: "v", Up: true, Beats: 2, Last: 2, From: at(100), To: at(101)}},
				Conflicts: []Conflict{{Where: 1, Boot: "a", Other: "b", Seen: true}}}},
		{"numbers jump", []string{"a 1 100", "a 4 103"},
			Log{Boots: []Boot{{ID: "a", VM: "v", Up: true, Beats: 2, Last: 4, From: at(100), To: at(103),
				Gaps: []Gap{{After: 1, Missing: 2, Pause: 3 * time.Second}}}}}},
		{"stood still", []string{"a 1 100", "a 2 160"},
			Log{Boots: []Boot{{ID: "a", VM: "v", Up: true, Beats: 2, Last: 2, From: at(100), To: at(160),
				Gaps: []Gap{{After: 1, Pause: time.Minute}}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseDisk(strings.NewReader(image(tt.records...)))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestDiskThatIsNone(t *testing.T) {
	for name, content := range map[string]string{
		"something else":  strings.Repeat("x", sectorSize),
		"half a sector":   "HFBEAT1 boot=a n=1 t=1 vm=v beat",
		"a bad number":    image("a one 100"),
		"a bad time":      image("a 1 noon"),
		"without boot id": image("x 1 100")[:8] + strings.Repeat(" ", sectorSize-8),
	} {
		if l, err := ParseDisk(strings.NewReader(content)); err == nil {
			t.Errorf("%s: no error but %+v", name, l)
		}
	}
}

func TestSerial(t *testing.T) {
	log := strings.Join([]string{
		"SeaBIOS (version 1.16.2)",
		"holdfast-guest machine cpus=2 memory=62020KiB firmware=bios rng=virtio_rng.0",
		"holdfast-guest nic eth0 mac=52:54:00:00:00:01",
		"holdfast-guest boot=a vm=v up",
		"tick 1 boot=a",
		"tick 2 boot=a",
		"holdfast-guest boot=a reboot because of hf.reboot",
		"[    3.7] reboot: Restarting system",
		"holdfast-guest machine cpus=2 memory=62020KiB firmware=bios rng=none",
		"holdfast-guest nic eth0 mac=52:54:00:00:00:02",
		"holdfast-guest disk vda bytes=8388608 ro=0 serial=heartbeat",
		"holdfast-guest port org.qemu.guest_agent.0",
		"holdfast-guest seed user-data sha256=abc",
		"holdfast-guest boot=b vm=v up",
		"tick 1 boot=b",
		"holdfast-guest boot=b CONFLICT sector=7 other=a",
		"tick 4 boot=b",
		"tick 5 bo",
	}, "\r\n")
	got, err := ParseSerial(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := Serial{
		Log: Log{
			Boots: []Boot{
				{ID: "a", VM: "v", Up: true, Beats: 2, Last: 2, Ended: "reboot"},
				{ID: "b", VM: "v", Up: true, Beats: 2, Last: 4, Gaps: []Gap{{After: 1, Missing: 2}}},
			},
			Conflicts: []Conflict{{Where: 15, Boot: "b", Other: "a", Seen: true}},
		},
		NICs:    []string{"52:54:00:00:00:02"},
		Seed:    map[string]string{"user-data": "abc"},
		Machine: map[string]string{"cpus": "2", "memory": "62020KiB", "firmware": "bios", "rng": "none"},
		Disks:   map[string]map[string]string{"vda": {"bytes": "8388608", "ro": "0", "serial": "heartbeat"}},
		Ports:   []string{"org.qemu.guest_agent.0"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
