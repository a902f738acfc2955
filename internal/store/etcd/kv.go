package etcd

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
)

// pageSize is how many keys one request lists: 20 MiB of 2 KiB objects. etcd counts the whole range for each page, so that small
// pages of a large range are slow.
const pageSize = 10_000

// getSize is how many keys one request gets by name: far below etcd's limits, whatever their length.
const getSize = 512

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.KV, error) {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return store.KV{}, s.fail(ctx, err, "get key %s", key)
	}
	defer leave()
	resp, err := s.client.Get(joined, key)
	if err != nil {
		return store.KV{}, s.fail(ctx, err, "get key %s", key)
	}
	if len(resp.Kvs) == 0 {
		return store.KV{Key: key}, nil
	}
	return fromEtcd(resp.Kvs[0]), nil
}

// GetAll implements store.Store.
func (s *Store) GetAll(ctx context.Context, keys []string) ([]store.KV, int64, error) {
	kvs, rev, err := s.read(ctx, func(ctx context.Context) ([]store.KV, int64, error) { return s.getAll(ctx, keys) })
	if err != nil {
		return nil, 0, s.fail(ctx, err, "get %d keys", len(keys))
	}
	return kvs, rev, nil
}

func (s *Store) getAll(ctx context.Context, keys []string) ([]store.KV, int64, error) {
	kvs, rev := make([]store.KV, 0, len(keys)), int64(0)
	for {
		n := min(len(keys), getSize)
		ops := make([]clientv3.Op, 0, n)
		for _, key := range keys[:n] {
			ops = append(ops, clientv3.OpGet(key, clientv3.WithRev(rev)))
		}
		resp, err := s.client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, 0, err
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		for i, r := range resp.Responses {
			kv := store.KV{Key: keys[i]}
			if found := r.GetResponseRange().Kvs; len(found) > 0 {
				kv = fromEtcd(found[0])
			}
			kvs = append(kvs, kv)
		}
		if keys = keys[n:]; len(keys) == 0 {
			return kvs, rev, nil
		}
	}
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefixes ...string) ([]store.KV, int64, error) {
	kvs, rev, err := s.read(ctx, func(ctx context.Context) (all []store.KV, rev int64, err error) {
		for _, prefix := range prefixes {
			if all, rev, err = s.list(ctx, all, prefix, rev); err != nil {
				return nil, 0, err
			}
		}
		return all, rev, nil
	})
	if err != nil {
		return nil, 0, s.fail(ctx, err, "list keys under %s", strings.Join(prefixes, ", "))
	}
	return kvs, rev, nil
}

// read reads in several requests, all at the revision of the first. When that is compacted in between, it starts again.
func (s *Store) read(ctx context.Context, all func(ctx context.Context) ([]store.KV, int64, error)) ([]store.KV, int64, error) {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	for {
		kvs, rev, err := all(joined)
		if !is(err, rpctypes.ErrCompacted) {
			return kvs, rev, err
		}
	}
}

// list appends the keys with a prefix to kvs, as of revision rev, or of the current one, which it returns, when rev is zero.
func (s *Store) list(ctx context.Context, kvs []store.KV, prefix string, rev int64) ([]store.KV, int64, error) {
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	if prefix == "" {
		from = "\x00"
	}
	for {
		resp, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(pageSize), clientv3.WithRev(rev))
		if err != nil {
			return nil, 0, err
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		for _, kv := range resp.Kvs {
			kvs = append(kvs, fromEtcd(kv))
		}
		if !resp.More {
			return kvs, rev, nil
		}
		from = kvs[len(kvs)-1].Key + "\x00"
	}
}

// Txn implements store.Store.
func (s *Store) Txn(ctx context.Context, t store.Txn) (int64, error) {
	if err := t.Check(); err != nil {
		return 0, err
	}
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return 0, s.fail(ctx, err, "transaction")
	}
	defer leave()
	cmps := make([]clientv3.Cmp, 0, len(t.If))
	for _, c := range t.If {
		cmps = append(cmps, compare(c)...)
	}
	ops := make([]clientv3.Op, 0, len(t.Put)+len(t.Delete))
	for _, kv := range t.Put {
		put := clientv3.OpPut(kv.Key, "")
		put.WithValueBytes(kv.Value) // no copy: etcd only reads it
		ops = append(ops, put)
	}
	for _, key := range t.Delete {
		ops = append(ops, clientv3.OpDelete(key))
	}
	resp, err := s.client.Txn(joined).If(cmps...).Then(ops...).Commit()
	if err != nil {
		return 0, s.fail(ctx, err, "transaction")
	}
	if !resp.Succeeded {
		return 0, s.fail(ctx, store.ErrConflict, "transaction")
	}
	return resp.Header.Revision, nil
}

// compare is a condition in etcd's terms. A key that does not exist has revisions of zero there.
func compare(c store.Cond) []clientv3.Cmp {
	exists := clientv3.Compare(clientv3.CreateRevision(c.Key), ">", 0)
	switch c.Kind {
	case store.Absent:
		return []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(c.Key), "=", 0)}
	case store.Exists:
		return []clientv3.Cmp{exists}
	case store.ModAtMost:
		return []clientv3.Cmp{exists, clientv3.Compare(clientv3.ModRevision(c.Key), "<", c.Revision+1)}
	case store.ModIs:
		return []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(c.Key), "=", c.Revision)}
	default: // store.CreatedAt; Txn.Check lets no other pass
		return []clientv3.Cmp{exists, clientv3.Compare(clientv3.CreateRevision(c.Key), "=", c.Revision)}
	}
}

func fromEtcd(kv *mvccpb.KeyValue) store.KV {
	value := kv.Value
	if len(value) == 0 {
		value = nil
	}
	return store.KV{Key: string(kv.Key), Value: value, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision}
}
