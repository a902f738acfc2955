package etcd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/conformance"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

// external is the endpoint of somebody else's etcd, a unix socket.
func external(t *testing.T, configure func(*embed.Config)) (endpoint string) {
	t.Helper()
	socket := url.URL{Scheme: "unix", Path: filepath.Join(t.TempDir(), "client")}
	serve(t, func(c *embed.Config) {
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{socket}, []url.URL{socket}
		configure(c)
	})
	return socket.String()
}

func serve(t *testing.T, configure func(*embed.Config)) *embed.Etcd {
	t.Helper()
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	c.ListenPeerUrls = nil
	c.TickMs, c.ElectionMs = 50, 250
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	configure(c)
	server, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		t.Fatal(err)
	}
	return server
}

func large(c *embed.Config) { c.MaxTxnOps, c.MaxRequestBytes = 8192, 9<<20 }

func dial(t *testing.T, endpoint string, ttl time.Duration) *etcd.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	st, err := etcd.Dial(ctx, etcd.DialOptions{Endpoints: []string{endpoint}, TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestConformanceOfAnExternalEtcd(t *testing.T) {
	conformance.Run(t, func(t *testing.T, ttl time.Duration) conformance.Store { return dial(t, external(t, large), ttl) })
}

func TestDialRefusesSmallTransactions(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*embed.Config){
		"its default limits":    func(*embed.Config) {},
		"enough operations":     func(c *embed.Config) { c.MaxTxnOps = 8192 },
		"enough bytes":          func(c *embed.Config) { c.MaxRequestBytes = 9 << 20 },
		"almost enough of both": func(c *embed.Config) { c.MaxTxnOps, c.MaxRequestBytes = 8192, 8<<20 },
	} {
		_, err := etcd.Dial(t.Context(), etcd.DialOptions{Endpoints: []string{external(t, configure)}})
		if err == nil || !strings.Contains(err.Error(), "--max-txn-ops=8192 --max-request-bytes=9437184") {
			t.Errorf("an etcd with %s: %v, want the flags that it lacks", name, err)
		}
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := etcd.Dial(ctx, etcd.DialOptions{Endpoints: []string{"unix://" + filepath.Join(t.TempDir(), "nobody")}})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("err = %v, want a time-out that names the endpoint", err)
	}
}

// A leader that is cut off from etcd stops by its own clock before another leads.
func TestCutOffLeader(t *testing.T) {
	t.Parallel()
	endpoint := external(t, large)
	wire := newWire(t, strings.TrimPrefix(endpoint, "unix://"))
	a, b := dial(t, "unix://"+wire.path, 3*time.Second), dial(t, endpoint, 3*time.Second)
	defer mustClose(t, b)
	defer mustClose(t, a)
	first, err := a.Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	wire.cut()
	second, err := b.Campaign(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if first.Valid() {
		t.Error("two leaders are valid")
	}
	<-first.Done()
	if _, err := b.Txn(t.Context(), store.Txn{If: []store.Cond{first.Fence()}}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the fence of the leader that was cut off: %v, want a conflict", err)
	}
	if _, err := b.Txn(t.Context(), store.Txn{If: []store.Cond{second.Fence()}}); err != nil {
		t.Errorf("the fence of the leader: %v", err)
	}
}

// wire is a network that can be cut: connections stay, nothing passes.
type wire struct {
	path string
	dead context.Context
	cut  func()
}

func newWire(t *testing.T, to string) *wire {
	w := &wire{path: filepath.Join(t.TempDir(), "wire")}
	w.dead, w.cut = context.WithCancel(context.Background())
	l, err := net.Listen("unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			conns = append(conns, in, out)
			mu.Unlock()
			wg.Go(func() { w.carry(in, out) })
			wg.Go(func() { w.carry(out, in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return w
}

func (w *wire) carry(from io.Reader, to io.Writer) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if w.dead.Err() != nil {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
