package etcd

import (
	"bytes"
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// Watch implements store.Store. etcd's client buffers for a slow reader without bound.
func (s *Store) Watch(ctx context.Context, prefix string, from int64) <-chan store.Batch {
	out := make(chan store.Batch)
	go func() {
		defer close(out)
		err := s.watch(ctx, prefix, max(from, 1), out)
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case out <- store.Batch{Err: s.fail(ctx, err, "watch keys under %s", prefix)}:
		case <-ctx.Done():
		}
	}()
	return out
}

var errWatchEnded = errors.New("etcd ended the watch without a reason")

// watch reports until ctx ends (nil) or the watch fails.
func (s *Store) watch(ctx context.Context, prefix string, from int64, out chan<- store.Batch) error {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// Without a leader in the cluster a watch would be silent for ever; this makes it fail. No fragments: they would split a
	// revision, and responses without them hold whole ones.
	responses := s.client.Watch(clientv3.WithRequireLeader(joined), prefix, clientv3.WithPrefix(), clientv3.WithRev(from))
	for resp := range responses {
		if err := resp.Err(); err != nil {
			return err
		}
		for _, b := range batches(resp.Events) {
			select {
			case out <- b:
			case <-joined.Done():
				return joined.Err()
			}
		}
	}
	if err := joined.Err(); err != nil {
		return err
	}
	return errWatchEnded
}

// batches groups the events of a response, which are in the order of their revisions, by revision.
func batches(events []*clientv3.Event) []store.Batch {
	var all []store.Batch
	for _, e := range events {
		c := store.Change{KV: fromEtcd(e.Kv), Deleted: e.Type == clientv3.EventTypeDelete}
		c.Value = bytes.Clone(c.Value) // in process, other watches see the same bytes
		if n := len(all); n == 0 || all[n-1].Revision != c.ModRevision {
			all = append(all, store.Batch{Revision: c.ModRevision})
		}
		last := &all[len(all)-1]
		last.Changes = append(last.Changes, c)
	}
	return all
}
