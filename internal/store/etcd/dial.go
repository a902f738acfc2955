package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// serverFlags are what an external etcd must be started with.
var serverFlags = fmt.Sprintf("--max-txn-ops=%d --max-request-bytes=%d", maxTxnOps, maxRequestBytes)

// DialOptions of an external etcd. Endpoints is required.
type DialOptions struct {
	// Endpoints are the members' client URLs.
	Endpoints []string
	// TLS is for endpoints with https; nil for http. Certificates of its own authenticate this client.
	TLS *tls.Config
	// Username and Password, where etcd wants them; empty: none.
	Username, Password string
	// TTL of the leader's lease in whole seconds, at least 2; zero means store.DefaultTTL.
	TTL time.Duration
	// Logger gets warnings and errors of etcd's client; nil: nobody does.
	Logger *slog.Logger
}

// Dial connects to an external etcd, whose compaction, quota and defragmentation are the business of who runs it. It waits until
// etcd answers, or ctx ends, and makes sure that etcd takes transactions as large as ours.
func Dial(ctx context.Context, o DialOptions) (*Store, error) {
	ttl, err := checkTTL(o.TTL)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            o.Endpoints,
		TLS:                  o.TLS,
		Username:             o.Username,
		Password:             o.Password,
		DialKeepAliveTime:    2 * time.Second, // a member that does not answer is left, well within a lease
		DialKeepAliveTimeout: 2 * time.Second,
		MaxCallSendMsgSize:   maxRequestBytes,
		Logger:               zapTo(o.Logger, ""),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(o.Endpoints, ", "), err)
	}
	s := newStore(client, ttl, o.Logger, nil)
	if err := s.probe(ctx); err != nil {
		return nil, errors.Join(s.fail(ctx, err, "connect to etcd at %s", strings.Join(o.Endpoints, ", ")), s.Close())
	}
	return s, nil
}

// probe writes nothing, in a transaction with as many comparisons and bytes as we ever have.
func (s *Store) probe(ctx context.Context) error {
	cmps := make([]clientv3.Cmp, maxTxnOps)
	for i := range cmps {
		cmps[i] = clientv3.Compare(clientv3.CreateRevision(layout.Root), "=", -1)
	}
	never := clientv3.OpPut(layout.Root, strings.Repeat("x", store.MaxTxnBytes))
	_, err := s.client.Txn(ctx).If(cmps...).Then(never).Commit()
	return err
}
