package placement

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

func able() *Host {
	return &Host{Name: "a", Up: true, Labels: []string{"disk=ssd", "zone=1"}, MachineTypes: map[string]string{"q35": "pc-q35-7.2"}, UEFI: true,
		Pools: []string{"local", "shared"}, Networks: []string{"lan"}, FreeMemory: 1 << 30, FreeCPUs: 4, StartLimit: 2}
}

func need() *Requirement {
	return &Requirement{Memory: 512 << 20, VCPUs: 2, MachineType: "q35", UEFI: true, Pools: []string{"shared"}, Networks: []string{"lan"},
		Selector: []string{"zone=1"}}
}

func TestCheckNamesEachObstacle(t *testing.T) {
	if got := Check(need(), able()); len(got) != 0 {
		t.Fatalf("an able host is refused: %v", got)
	}
	for _, c := range []struct {
		reason  Reason
		change  func(*Requirement, *Host)
		message string
	}{
		{ReasonHostNotUp, func(_ *Requirement, h *Host) { h.Up = false }, "is not up"},
		{ReasonHostUnschedulable, func(_ *Requirement, h *Host) { h.Unschedulable = true }, "is cordoned"},
		{ReasonSelectorMismatch, func(r *Requirement, _ *Host) { r.Selector = []string{"zone=2"} }, "zone=2"},
		{ReasonMachineTypeUnsupported, func(r *Requirement, _ *Host) { r.MachineType = "pc-q35-8.0" }, "pc-q35-8.0"},
		{ReasonFirmwareUnsupported, func(_ *Requirement, h *Host) { h.UEFI = false }, "ovmf"},
		{ReasonStoragePoolMissing, func(r *Requirement, _ *Host) { r.Pools = []string{"fast", "shared"} }, "fast"},
		{ReasonNetworkMissing, func(r *Requirement, _ *Host) { r.Networks = []string{"dmz"} }, "dmz"},
		{ReasonStateIsLocal, func(r *Requirement, _ *Host) { r.StateHost = "b" }, "on b"},
		{ReasonHostInsufficientMemory, func(_ *Requirement, h *Host) { h.FreeMemory = 100 << 20 }, "has 100Mi of memory free, 512Mi is needed"},
		{ReasonHostInsufficientCPU, func(_ *Requirement, h *Host) { h.FreeCPUs = 1 }, "has 1 virtual CPUs free, 2 are needed"},
		{ReasonHostStartLimit, func(_ *Requirement, h *Host) { h.Starting = 2 }, "is starting 2 of at most 2"},
	} {
		r, h := need(), able()
		c.change(r, h)
		got := Check(r, h)
		if len(got) != 1 || got[0].Reason != c.reason || !strings.Contains(got[0].Message, c.message) {
			t.Errorf("%s: got %v, want a message with %q", c.reason, got, c.message)
		}
		if tells[c.reason] == "" {
			t.Errorf("%s: nothing to say when hosts are counted", c.reason)
		}
		if Choose(r, []*Host{h}) != nil {
			t.Errorf("%s: the host is chosen all the same", c.reason)
		}
	}
}

func TestChooseSpreads(t *testing.T) {
	a, b, c := able(), able(), able()
	b.Name, b.FreeMemory = "b", 2<<30
	c.Name, c.FreeMemory = "c", 2<<30
	if got := Choose(need(), []*Host{a, b, c}); got != b {
		t.Errorf("chose %s, want the emptiest, and the first by name among equals: b", got.Name)
	}
}

func TestExplainCountsHostsByTheirFirstObstacle(t *testing.T) {
	a, b, c := able(), able(), able()
	b.Name, b.FreeMemory, c.Name, c.Unschedulable = "b", 0, "c", true
	a.FreeMemory = 1 << 20
	got := Explain(need(), []*Host{a, b, c})
	want := "none of 3 hosts can run it: 2 with too little memory (a has 1Mi of memory free, 512Mi is needed), 1 cordoned (c is cordoned)"
	if got.Kinds != "HostInsufficientMemory,HostUnschedulable" {
		t.Errorf("kinds %q", got.Kinds)
	}
	if got.Message != want || got.Busy {
		t.Errorf("got  %q busy %v\nwant %q", got.Message, got.Busy, want)
	}
	a, b = able(), able()
	a.Starting, b.FreeMemory = 2, 0
	if got := Explain(need(), []*Host{a, b}); !got.Busy {
		t.Error("one host is only busy, so it is a matter of waiting for a slot")
	}
	if got := Explain(need(), nil); !strings.Contains(got.Message, "host add") {
		t.Errorf("without hosts: %q does not say what to do", got.Message)
	}
}

// TestChooseAgreesWithCheck: the fast answer and the explained one are the same.
func TestChooseAgreesWithCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subset := func(label string, of ...string) []string {
			var out []string
			for _, s := range of {
				if rapid.Bool().Draw(t, label) {
					out = append(out, s)
				}
			}
			return out
		}
		r := &Requirement{Memory: v1.Quantity(rapid.IntRange(0, 3).Draw(t, "mem")), VCPUs: rapid.IntRange(0, 3).Draw(t, "cpu"), MachineType: "q35",
			UEFI: rapid.Bool().Draw(t, "uefi"), Pools: subset("pool", "p", "q"), Networks: subset("net", "n"), Selector: subset("sel", "x=1", "y=1"),
			StateHost: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "state")}
		h := &Host{Name: "a", Up: rapid.Bool().Draw(t, "up"), Unschedulable: rapid.Bool().Draw(t, "cordon"), Labels: subset("label", "x=1", "y=1"),
			MachineTypes: map[string]string{}, UEFI: rapid.Bool().Draw(t, "huefi"), Pools: subset("hpool", "p", "q"), Networks: subset("hnet", "n"),
			FreeMemory: v1.Quantity(rapid.IntRange(-1, 3).Draw(t, "hmem")), FreeCPUs: rapid.IntRange(-1, 3).Draw(t, "hcpu"),
			Starting: rapid.IntRange(0, 2).Draw(t, "starting"), StartLimit: 1}
		if rapid.Bool().Draw(t, "machine") {
			h.MachineTypes["q35"] = "pc-q35-7.2"
		}
		if chosen, obstacles := Choose(r, []*Host{h}) != nil, Check(r, h); chosen != (len(obstacles) == 0) {
			t.Fatalf("chosen %v, obstacles %v", chosen, obstacles)
		}
	})
}
