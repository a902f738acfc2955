package etcd

import "context"

// Maintain is what the store does on its own every few minutes, with figures of now: etcd's are those of its last commit.
func Maintain(ctx context.Context, s *Store) error {
	s.embedded.Server.Backend().ForceCommit()
	return s.maintain(ctx, false)
}
