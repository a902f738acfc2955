package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	maintainEvery = 5 * time.Minute
	// A file that is smaller than this is not worth rewriting.
	defragAbove = 64 << 20
	// Rewriting blocks everything, for a second per 50 MiB in use on a slow disk. More than this would end the leader's term.
	defragQuietly = 100 << 20
)

// maintainForever looks after an embedded etcd until the store is closed. etcd compacts on its own.
func (s *Store) maintainForever() {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			if err := s.maintain(s.ctx, false); err != nil && s.ctx.Err() == nil {
				s.log.Warn("maintenance of the store failed; it is tried again", "error", err, "in", maintainEvery)
			}
		}
	}
}

// maintain gives back the space that is not in use, and ends etcd's refusal to write once there is room again. leaderless: nobody
// can mind if it takes long.
func (s *Store) maintain(ctx context.Context, leaderless bool) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("list etcd's alarms: %w", err)
	}
	full := noSpace(alarms)
	if full != nil {
		if err := s.compactAll(ctx); err != nil {
			return err
		}
	}
	status, err := s.client.Status(ctx, "")
	if err != nil {
		return fmt.Errorf("look at the size of the database: %w", err)
	}
	if full == nil && !worthRewriting(status.DbSize, status.DbSizeInUse, s.embedded.quota, leaderless) {
		return nil
	}
	// Not through the client: in process it lacks what it wants for that.
	if err := s.embedded.Server.Backend().Defrag(); err != nil {
		return fmt.Errorf("defragment the database: %w", err)
	}
	if full == nil {
		return nil
	}
	if status, err = s.client.Status(ctx, ""); err != nil {
		return fmt.Errorf("look at the size of the database: %w", err)
	}
	if status.DbSize > s.embedded.quota/10*9 {
		s.log.Warn("the store is out of space: delete objects that nobody needs, or raise its quota",
			"bytes", status.DbSize, "quota", s.embedded.quota)
		return nil
	}
	if _, err := s.client.AlarmDisarm(ctx, full); err != nil {
		return fmt.Errorf("end etcd's alarm for want of space: %w", err)
	}
	return nil
}

// worthRewriting weighs the space won against the time for which everything stops. etcd reuses what is free in the file, but
// counts all of the file against the quota: near it, a pause is better than the end of all writing.
func worthRewriting(size, inUse, quota int64, leaderless bool) bool {
	if size < defragAbove || inUse > size/2 {
		return false
	}
	return leaderless || inUse <= defragQuietly || size > quota/10*8
}

func noSpace(alarms *clientv3.AlarmResponse) *clientv3.AlarmMember {
	for _, a := range alarms.Alarms {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return (*clientv3.AlarmMember)(a)
		}
	}
	return nil
}

// Compact forgets what happened at revision and before: watches from there end with store.ErrCompacted. An embedded etcd does it
// on its own every hour.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	joined, leave, err := s.enter(ctx)
	if err != nil {
		return s.fail(ctx, err, "compact the store")
	}
	defer leave()
	if _, err := s.client.Compact(joined, revision, clientv3.WithCompactPhysical()); err != nil {
		return s.fail(ctx, err, "compact the store")
	}
	return nil
}

// compactAll forgets all history.
func (s *Store) compactAll(ctx context.Context) error {
	at, err := s.client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("look at the revision of the database: %w", err)
	}
	_, err = s.client.Compact(ctx, at.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && !is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact the database: %w", err)
	}
	return nil
}
