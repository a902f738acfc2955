package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

const (
	// DefaultQuota is how large the database may grow, in bytes: 10,000 VMs take about 100 MiB, an hour of history as much again
	// or several times that in a storm.
	DefaultQuota = 2 << 30
	// historyKept is how far back a watch can start.
	historyKept = time.Hour
	memberName  = "holdfast"
	// A condition may take two comparisons.
	maxTxnOps = 2 * store.MaxTxnOps
	// Room for the encoding of the largest transaction.
	maxRequestBytes = store.MaxTxnBytes + 1<<20
)

// Options of an embedded etcd. Dir is required.
type Options struct {
	// Dir is the data directory; made when missing, readable by its owner only. One process at a time uses it.
	Dir string
	// Quota is how many bytes the database may have; zero means DefaultQuota.
	Quota int64
	// TTL of the leader's lease in whole seconds, at least 2; zero means store.DefaultTTL.
	TTL time.Duration
	// Logger gets etcd's warnings and errors; nil: nobody does.
	Logger *slog.Logger
}

func (o *Options) setDefaults() error {
	if o.Dir == "" {
		return fmt.Errorf("start etcd: no data directory given")
	}
	if o.Quota == 0 {
		o.Quota = DefaultQuota
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	o.TTL, err = checkTTL(o.TTL)
	return err
}

func checkTTL(ttl time.Duration) (time.Duration, error) {
	if ttl == 0 {
		return store.DefaultTTL, nil
	}
	if ttl < 2*time.Second || ttl%time.Second != 0 {
		return 0, fmt.Errorf("the leader's lease must be a whole number of seconds and at least 2 s, not %s", ttl)
	}
	return ttl, nil
}

// StartEmbedded starts an etcd of one member in this process and waits until it serves, or ctx ends. It listens on nothing:
// nobody but this process can reach it.
func StartEmbedded(ctx context.Context, o Options) (*Store, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	unlock, err := lockDir(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	etcd, err := startServer(ctx, o)
	if err != nil {
		unlock()
		return nil, fmt.Errorf("start etcd in %s: %w", o.Dir, err)
	}
	s := newStore(v3client.New(etcd.Server), o.TTL, o.Logger, &server{Etcd: etcd, quota: o.Quota, unlock: unlock})
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd in %s: %w", o.Dir, err), s.Close())
	}
	return s, nil
}

// server is an etcd in this process.
type server struct {
	*embed.Etcd
	quota  int64
	unlock func()
}

func (s *server) stop() {
	s.Close()
	s.unlock()
}

func startServer(ctx context.Context, o Options) (*embed.Etcd, error) {
	etcd, err := embed.StartEtcd(config(o))
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err = <-etcd.Err():
	case <-etcd.Server.StopNotify():
		err = errors.New("it stopped before it was ready")
	case <-ctx.Done():
		err = fmt.Errorf("wait until it is ready: %w", ctx.Err())
	}
	etcd.Close()
	return nil, err
}

func config(o Options) *embed.Config {
	c := embed.NewConfig()
	c.Name = memberName
	c.Dir = o.Dir
	c.ListenPeerUrls, c.ListenClientUrls, c.AdvertiseClientUrls = nil, nil, nil
	// A member must have an address, even where nobody listens.
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:0"}}
	c.InitialCluster = c.InitialClusterFromName(memberName)
	// A restart waits up to this long before the only member elects itself; with nobody to hear from, a second is no use.
	c.TickMs, c.ElectionMs = 50, 250
	c.QuotaBackendBytes = o.Quota
	c.MaxTxnOps = maxTxnOps
	c.MaxRequestBytes = maxRequestBytes
	c.AutoCompactionMode = embed.CompactorModePeriodic
	c.AutoCompactionRetention = historyKept.String()
	// What raft has applied since its last snapshot stays in memory: with etcd's 10,000 entries, gigabytes of large
	// transactions. There is no other member that might want to catch up.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 100
	// Large transactions on a slow disk take long, and there is nothing to be done about each.
	c.WarningApplyDuration, c.WarningUnaryRequestDuration = time.Second, time.Second
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapTo(o.Logger, o.Dir))
	return c
}

// prepare makes a server that has just started fit for use.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.maintain(ctx, true); err != nil {
		return err
	}
	if err := s.evictDeadLeaders(ctx); err != nil {
		return err
	}
	go s.maintainForever()
	return nil
}

// evictDeadLeaders deletes the keys of candidates that processes before this one left behind, so that a restart need not wait
// for their leases. All of them are dead: only a process that holds the directory's lock can be a candidate.
func (s *Store) evictDeadLeaders(ctx context.Context) error {
	if _, err := s.client.Delete(ctx, layout.Leader, clientv3.WithPrefix()); err != nil {
		return fmt.Errorf("end the term of the leader before: %w", err)
	}
	return nil
}
