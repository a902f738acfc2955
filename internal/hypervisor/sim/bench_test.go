package sim_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/hypervisor/sim"
)

// BenchmarkStart is what a simulated host takes for itself when an instance is defined and created with everything instant.
func BenchmarkStart(b *testing.B) {
	f := sim.New(sim.Options{})
	f.AddHost(sim.HostConfig{Name: "h1"})
	c, err := f.Connect(b.Context(), "sim://h1")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for range c.Events() {
		}
	}()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := machine(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), "i")
		if err := c.Define(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		if err := c.Create(b.Context(), m.VMUID, "i"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is one resync of a host with 10,000 running domains.
func BenchmarkList(b *testing.B) {
	f := sim.New(sim.Options{})
	f.AddHost(sim.HostConfig{Name: "h1"})
	c, err := f.Connect(b.Context(), "sim://h1")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		m := machine(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), "i")
		if c.Define(b.Context(), m) != nil || c.Create(b.Context(), m.VMUID, "i") != nil {
			b.Fatal("cannot start")
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if list, err := c.List(b.Context()); err != nil || len(list) != 10_000 {
			b.Fatal(len(list), err)
		}
	}
}
