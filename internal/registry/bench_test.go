package registry_test

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

// A manifest of a thousand VMs, created and then applied again unchanged.
func BenchmarkApply(b *testing.B) {
	const batch = 1000
	st, err := etcd.StartEmbedded(b.Context(), etcd.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	r := registry.New(st, time.Now)
	var last []v1.Document
	apply := func() {
		if _, err := r.Apply(b.Context(), last, registry.ApplyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			last = nil
			for range batch {
				n++
				last = append(last, v1.Document{Object: vm(fmt.Sprintf("vm-%d", n))})
			}
			apply()
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			apply()
		}
	})
}
