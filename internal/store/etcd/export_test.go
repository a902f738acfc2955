package etcd

import "context"

// Maintain is what the store does on its own every few minutes.
func Maintain(ctx context.Context, s *Store) error { return s.maintain(ctx, false) }
