package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

func put(key string) store.Txn {
	return store.Txn{Put: []store.KV{{Key: key, Value: []byte("v")}}}
}

func exists(t *testing.T, st store.Store, key string) bool {
	t.Helper()
	kv, err := st.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return kv.ModRevision != 0
}

func TestFaultsOfOneTransaction(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name    string
		fault   memory.Fault
		err     error
		written bool
		dead    bool
	}{
		{"none", memory.Fault{}, nil, true, false},
		{"answer lost", memory.Fault{Err: boom}, boom, true, false},
		{"refused", memory.Fault{Err: store.ErrNoSpace, Drop: true}, store.ErrNoSpace, false, false},
		{"crash after", memory.Fault{Kill: true}, memory.ErrKilled, true, true},
		{"crash before", memory.Fault{Kill: true, Drop: true}, memory.ErrKilled, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := memory.New()
			defer st.Close()
			h := st.View(memory.Faults{Txn: func(store.Txn) memory.Fault { return tc.fault }})
			if _, err := h.Txn(t.Context(), put("/k")); !errors.Is(err, tc.err) {
				t.Errorf("the caller is told %v, want %v", err, tc.err)
			}
			if got := exists(t, st, "/k"); got != tc.written {
				t.Errorf("written: %v, want %v", got, tc.written)
			}
			if _, err := h.Get(t.Context(), "/k"); errors.Is(err, memory.ErrKilled) != tc.dead {
				t.Errorf("the next call through the handle: %v; killed: want %v", err, tc.dead)
			}
		})
	}
}

func TestKillDuringATransaction(t *testing.T) {
	for _, landed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New()
			defer st.Close()
			h := st.View(memory.Faults{Latency: time.Second, Landed: func(store.Txn) bool { return landed }})
			time.AfterFunc(time.Second/2, h.Kill)
			if _, err := h.Txn(t.Context(), put("/k")); !errors.Is(err, memory.ErrKilled) {
				t.Errorf("err = %v, want ErrKilled", err)
			}
			if got := exists(t, st, "/k"); got != landed {
				t.Errorf("written: %v, want %v", got, landed)
			}
		})
	}
}

func TestKillEndsWatchesAndCampaigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		defer st.Close()
		if _, err := st.Campaign(t.Context(), "leader"); err != nil {
			t.Fatal(err)
		}
		h := st.View(memory.Faults{})
		time.AfterFunc(time.Minute, h.Kill)
		if b := <-h.Watch(t.Context(), "/none", 1); !errors.Is(b.Err, memory.ErrKilled) {
			t.Errorf("the watch ended with %v, want ErrKilled", b.Err)
		}
		if _, err := h.Campaign(t.Context(), "dead"); !errors.Is(err, memory.ErrKilled) {
			t.Errorf("the campaign ended with %v, want ErrKilled", err)
		}
	})
}

// A process that is cut off stops itself a margin before its lease is over; the next one leads when it is over, not before.
func TestCutOffLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		st := memory.New(memory.WithTTL(ttl))
		defer st.Close()
		a, b := st.View(memory.Faults{}), st.View(memory.Faults{})
		first, err := a.Campaign(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Second)
		if !first.Valid() {
			t.Fatal("a leader that renews is not valid after an hour")
		}
		a.Kill()
		killed := time.Now()
		if !first.Valid() {
			t.Error("a leader cannot know at once that it is cut off")
		}
		<-first.Done()
		stopped := time.Since(killed)
		if first.Valid() {
			t.Error("valid after Done")
		}
		second, err := b.Campaign(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(killed)
		if stopped > ttl-store.Margin(ttl) || took-stopped < store.Margin(ttl) || took > ttl {
			t.Errorf("the cut-off leader stopped after %v, the next led after %v; lease %v, margin %v", stopped, took, ttl, store.Margin(ttl))
		}
		if _, err := b.Txn(t.Context(), store.Txn{If: []store.Cond{first.Fence()}}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the fence of the term before: %v, want ErrConflict", err)
		}
		if _, err := b.Txn(t.Context(), store.Txn{If: []store.Cond{second.Fence()}}); err != nil {
			t.Errorf("the fence of the term: %v", err)
		}
	})
}

// A process that dies without resigning: its candidate's ctx ends.
func TestDeadLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.WithTTL(5 * time.Second))
		defer st.Close()
		ctx, die := context.WithCancel(t.Context())
		first, err := st.Campaign(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		die()
		<-first.Done()
		died := time.Now()
		if _, err := st.View(memory.Faults{}).Campaign(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(died); took != 5*time.Second {
			t.Errorf("the next leads after %v, want the TTL", took)
		}
	})
}
