package etcd_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store/etcd"
	"github.com/holdfast-vm/holdfast/internal/store/storetest"
)

// What an embedded etcd takes: the yardstick for the rate at which VMs start. Each run writes 64 objects times b.N, at least.
func BenchmarkPut(b *testing.B) {
	for _, l := range []storetest.Load{
		{Size: 2048, Batch: 1, Writers: 1},
		{Size: 2048, Batch: 1, Writers: 16},
		{Size: 2048, Batch: 64, Writers: 1},
		{Size: 2048, Batch: 64, Writers: 4},
		{Size: 2048, Batch: 64, Writers: 16},
		{Size: 1024, Batch: 64, Writers: 1},
		{Size: 1024, Batch: 64, Writers: 4},
	} {
		b.Run(fmt.Sprintf("size=%d/batch=%d/writers=%d", l.Size, l.Batch, l.Writers), func(b *testing.B) {
			st, err := etcd.StartEmbedded(b.Context(), etcd.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			l.Objects = b.N * max(l.Batch, l.Writers)
			b.ResetTimer()
			rate, err := storetest.RawPutRate(b.Context(), st, l)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(rate, "objects/s")
		})
	}
}
