package store

import "fmt"

// Check reports why no store would take the transaction: too large, or a key that is empty or written twice. Stores call it
// first, so that all of them refuse the same.
func (t Txn) Check() error {
	if n := len(t.Put) + len(t.Delete); n > MaxTxnOps {
		return fmt.Errorf("a transaction may write %d keys, this one has %d: split it", MaxTxnOps, n)
	}
	if n := len(t.If); n > MaxTxnOps {
		return fmt.Errorf("a transaction may have %d conditions, this one has %d: split it", MaxTxnOps, n)
	}
	if n := t.Size(); n > MaxTxnBytes {
		return fmt.Errorf("a transaction may have %d bytes, this one has %d: split it, or make the objects smaller", MaxTxnBytes, n)
	}
	written := make(map[string]bool, len(t.Put)+len(t.Delete))
	once := func(key string) error {
		if key == "" {
			return fmt.Errorf("a transaction writes a key without a name")
		}
		if written[key] {
			return fmt.Errorf("a transaction writes key %s twice", key)
		}
		written[key] = true
		return nil
	}
	for _, kv := range t.Put {
		if err := once(kv.Key); err != nil {
			return err
		}
	}
	for _, key := range t.Delete {
		if err := once(key); err != nil {
			return err
		}
	}
	for _, c := range t.If {
		if c.Key == "" {
			return fmt.Errorf("a condition names no key")
		}
		if c.Kind < Absent || c.Kind > CreatedAt {
			return fmt.Errorf("a condition on key %s is of unknown kind %d", c.Key, c.Kind)
		}
	}
	return nil
}

// Size is what the keys and values of the transaction take, in bytes. The key of a condition counts twice, for etcd may need two
// comparisons for it.
func (t Txn) Size() int {
	n := 0
	for _, c := range t.If {
		n += 2 * len(c.Key)
	}
	for _, kv := range t.Put {
		n += len(kv.Key) + len(kv.Value)
	}
	for _, key := range t.Delete {
		n += len(key)
	}
	return n
}

// Holds reports whether the condition is true of the key as the store has it (zero when it does not exist).
func (c Cond) Holds(kv KV) bool {
	exists := kv.ModRevision != 0
	switch c.Kind {
	case Absent:
		return !exists
	case Exists:
		return exists
	case ModAtMost:
		return exists && kv.ModRevision <= c.Revision
	case ModIs:
		return kv.ModRevision == c.Revision
	case CreatedAt:
		return exists && kv.CreateRevision == c.Revision
	}
	return false
}
