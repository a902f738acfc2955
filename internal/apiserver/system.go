package apiserver

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const systemTag = "Server"

// healthURL is answered whatever the store does.
const healthURL = "/healthz"

// readyTimeout is how long the store may take to answer.
const readyTimeout = 5 * time.Second

// Health is the answer of /healthz and /readyz.
type Health struct {
	// Status is "ok".
	Status string `json:"status"`
}

func (s *Server) systemRoutes(api huma.API) {
	register(api, huma.Operation{Method: http.MethodGet, Path: healthURL, OperationID: "healthz", Summary: "Is the server alive?",
		Tags: []string{systemTag}}, nil,
		func(context.Context, *struct{}) (*output[Health], error) { return &output[Health]{Health{"ok"}}, nil })

	register(api, huma.Operation{Method: http.MethodGet, Path: "/readyz", OperationID: "readyz",
		Summary: "Can the server do its work: does its store answer?", Tags: []string{systemTag},
		Errors: []int{http.StatusServiceUnavailable}}, nil,
		func(ctx context.Context, _ *struct{}) (*output[Health], error) {
			ctx, cancel := context.WithTimeout(ctx, readyTimeout)
			defer cancel()
			if _, err := s.registry.Config(ctx); err != nil {
				return nil, newProblem(http.StatusServiceUnavailable, "the store does not answer: "+err.Error())
			}
			return &output[Health]{Health{"ok"}}, nil
		})

	register(api, huma.Operation{Method: http.MethodGet, Path: "/version", OperationID: "version", Summary: "Which server is this, and who leads?",
		Tags: []string{systemTag}}, nil,
		func(context.Context, *struct{}) (*output[v1.VersionInfo], error) {
			info := v1.VersionInfo{Version: s.options.Version}
			if s.options.Leader != nil {
				info.Leader = s.options.Leader()
			}
			return &output[v1.VersionInfo]{info}, nil
		})

	if s.options.Metrics != nil {
		s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.options.Metrics, promhttp.HandlerOpts{}))
	}
}
