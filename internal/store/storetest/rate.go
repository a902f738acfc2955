// Package storetest measures stores. It exists so that the engine's throughput can be compared with what its store gives, on the
// same machine and in the same run. Conformance is tested in package conformance.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Load is what RawPutRate writes.
type Load struct {
	// Objects are written once each, under keys of their own.
	Objects int
	// Size of an object's value in bytes.
	Size int
	// Batch is how many objects one transaction has.
	Batch int
	// Writers work side by side, each with one transaction under way.
	Writers int
	// Fence is a condition of each transaction, as a leader has it; nil: none.
	Fence *store.Cond
}

// RawPutRate is how many objects a second the store takes. All fields of the load must be positive, and no writer may be without
// work.
func RawPutRate(ctx context.Context, st store.Store, l Load) (float64, error) {
	if l.Size < 1 || l.Batch < 1 || l.Writers < 1 || l.Objects < l.Writers {
		return 0, fmt.Errorf("measure the put rate: %+v is no load", l)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range l.Writers {
		wg.Go(func() {
			for i := w * l.Objects / l.Writers; i < (w+1)*l.Objects/l.Writers; i += l.Batch {
				end := min(i+l.Batch, (w+1)*l.Objects/l.Writers)
				if _, err := st.Txn(ctx, l.txn(i, end)); err != nil {
					cancel(fmt.Errorf("measure the put rate: %w", err))
					return
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(l.Objects) / time.Since(begin).Seconds(), nil
}

func (l Load) txn(from, to int) store.Txn {
	var t store.Txn
	if l.Fence != nil {
		t.If = append(t.If, *l.Fence)
	}
	for i := from; i < to; i++ {
		value := bytes.Repeat([]byte{byte(i)}, l.Size)
		t.Put = append(t.Put, store.KV{Key: fmt.Sprintf("/rate/%08d", i), Value: value})
	}
	return t
}
