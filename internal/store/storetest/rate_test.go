package storetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
	"github.com/holdfast-vm/holdfast/internal/store/storetest"
)

func TestRawPutRateWritesItsLoad(t *testing.T) {
	st := memory.New()
	defer st.Close()
	rate, err := storetest.RawPutRate(t.Context(), st, storetest.Load{Objects: 103, Size: 7, Batch: 10, Writers: 3})
	if err != nil || rate <= 0 {
		t.Fatalf("rate %v, error %v", rate, err)
	}
	kvs, _, err := st.List(t.Context(), "/rate/")
	if err != nil || len(kvs) != 103 || len(kvs[50].Value) != 7 {
		t.Errorf("wrote %d objects (%v), want 103 of 7 bytes", len(kvs), err)
	}
}

func TestRawPutRateFails(t *testing.T) {
	st := memory.New()
	defer st.Close()
	fence := store.Cond{Key: "/leader", Kind: store.Exists}
	if _, err := storetest.RawPutRate(t.Context(), st, storetest.Load{Objects: 10, Size: 1, Batch: 2, Writers: 2, Fence: &fence}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("without a leader: %v, want a conflict", err)
	}
	if _, err := storetest.RawPutRate(t.Context(), st, storetest.Load{Objects: 1, Size: 1, Batch: 1, Writers: 2}); err == nil {
		t.Error("a writer without work is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storetest.RawPutRate(ctx, st, storetest.Load{Objects: 1, Size: 1, Batch: 1, Writers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
