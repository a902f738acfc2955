package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-vm/holdfast/internal/registry"
)

// Options of a server.
type Options struct {
	// Log gets a line for each change that is asked for, and for each failure that is the server's. Nil means none.
	Log *slog.Logger
	// Version of Holdfast, e.g. "v0.1.0".
	Version string
	// Leader names the process that decides; it returns "" while there is none. Nil means that nobody knows.
	Leader func() string
	// Metrics are served at /metrics. Nil means no such page.
	Metrics prometheus.Gatherer
}

// Server is the HTTP API.
type Server struct {
	// registry may be used once attached is closed.
	registry *registry.Registry
	attached chan struct{}
	options  Options
	log      *slog.Logger
	mux      *http.ServeMux
	// heartbeat is how often a quiet watch shows that it lives.
	heartbeat time.Duration
	// startPatience is how long a request waits for the registry.
	startPatience time.Duration
	// stopping is closed when the server shuts down: streams end then, everything else is answered first.
	stopping chan struct{}
	stopOnce sync.Once
}

// Time limits of connections. A watch has none as long as its reader reads.
const (
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 30 * time.Second
	requestTimeout  = 60 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second
)

// New makes a server of a registry; nil: Attach gives it one later. It serves once it is given a listener.
func New(reg *registry.Registry, o Options) *Server {
	s := &Server{options: o, log: o.Log, mux: http.NewServeMux(), heartbeat: heartbeat, startPatience: startPatience,
		attached: make(chan struct{}), stopping: make(chan struct{})}
	if reg != nil {
		s.Attach(reg)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.routes()
	return s
}

// Serve answers requests on the listener until ctx ends: then it takes no new ones, ends the watches, answers what it has begun
// and closes the listener. It returns nil after such an end, or why the listener failed.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the API on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.stopOnce.Do(func() { close(s.stopping) })
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(deadline)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // who does not read his answer in time gets none
	}
	<-failed
	if err != nil {
		return fmt.Errorf("stop serving the API on %s: %w", listener.Addr(), err)
	}
	return nil
}
