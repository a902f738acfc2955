package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/hypervisor"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/conformance"
	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

var guests = map[conformance.Guest]string{
	conformance.Obedient:    "sim.boot=1s sim.shutdown=2s sim.deaf=1s",
	conformance.Deaf:        "sim.acpi=ignore",
	conformance.PowersOff:   "sim.poweroff=3s",
	conformance.Panics:      "sim.crash=3s",
	conformance.Unstartable: "sim.starterror=cannot_open_the_disk",
}

// The simulated hosts keep the promises that real ones keep. Time is real: subtests cannot share a synctest bubble.
func TestConformance(t *testing.T) {
	f := sim.New(sim.Options{Guest: func(m hypervisor.Machine) sim.Guest {
		g := sim.GuestOf(m)
		for _, d := range []*time.Duration{&g.Boot, &g.Shutdown, &g.Deaf, &g.PowersOffAfter, &g.CrashesAfter} {
			*d /= 50
		}
		return g
	}})
	h := f.AddHost(sim.HostConfig{Name: "h1"})
	conformance.Run(t, conformance.Fixture{
		Driver: f, URI: h.URI(),
		Machine: func(_ *testing.T, guest conformance.Guest) hypervisor.Machine {
			return hypervisor.Machine{
				ClusterUID: "cluster", VMUID: uuid.NewString(), Namespace: "default", Name: "vm", InstanceID: "1-" + uuid.NewString()[:8],
				MachineType: "pc-q35-7.2",
				Template:    v1.Template{Memory: 96 << 20, KernelBoot: &v1.KernelBoot{Kernel: "/vmlinuz", Cmdline: guests[guest]}},
			}
		},
		Foreign: func(t *testing.T) string {
			id := h.DefineForeign("theirs-"+t.Name(), 64<<20, true)
			t.Cleanup(func() { h.OutsiderRemoves(id) })
			return id
		},
		Freeze: func(*testing.T) func() {
			h.Freeze()
			return h.Thaw
		},
		FreezeAtCreate: func(*testing.T) func() {
			h.FreezeAtCreate()
			return h.Thaw
		},
		Pool: "shared",
		FreezeAtSeed: func(*testing.T) func() { // a definition and its seed are one message here
			h.Freeze()
			return h.Thaw
		},
		Cut:         func(*testing.T) { h.Disconnect() },
		CallTimeout: 5 * time.Second, Patience: 5 * time.Second,
	})
}

func TestFreezeAtCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(sim.Options{})
		c := w.connect(t, w.fleet)
		w.host.FreezeAtCreate()
		ok(t, c.Define(t.Context(), machine(vm, "i1")))
		if err := c.Create(within(t, time.Second), vm, "i1"); err == nil || hypervisor.Answered(err) {
			t.Fatalf("create: %v, want no answer", err)
		}
		w.want(t, "Inactive/unknown")
		w.host.Thaw()
		w.want(t, "Running/booted")
	})
}
