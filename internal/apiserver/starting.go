package apiserver

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-vm/holdfast/internal/registry"
)

// startPatience is how long a request waits for a server that is starting: an embedded store is there within a second.
const startPatience = 5 * time.Second

// Attach gives a server that was made without a registry the one it serves. Until then it takes requests and lets each wait for a
// few seconds; then the answer is that the server is starting.
func (s *Server) Attach(reg *registry.Registry) {
	s.registry = reg
	close(s.attached)
}

// awaitRegistry reports whether there is a registry, for which it waits a little.
func (s *Server) awaitRegistry(ctx context.Context) bool {
	select {
	case <-s.attached: // whatever the others say
		return true
	default:
	}
	patience := time.NewTimer(s.startPatience)
	defer patience.Stop()
	select {
	case <-s.attached:
		return true
	case <-patience.C:
	case <-s.stopping:
	case <-ctx.Done():
	}
	return false
}

// answerStarting is what is answered while there is no registry.
func answerStarting(w http.ResponseWriter) {
	p := newProblem(http.StatusServiceUnavailable, "the Holdfast server is starting and waits for its store: ask again in a moment. "+
		"If it stays so, look at the server's log, and at etcd if it uses one of your own")
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = huma.DefaultJSONFormat.Marshal(w, p) // who has hung up reads no answer
}
