package apiserver

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// root is where the resources' URLs begin.
const root = "/api/v1"

// Limits of request bodies, in bytes.
const (
	maxObjectBytes   = 1 << 20
	maxManifestBytes = 8 << 20
)

// routes makes all URLs known.
func (s *Server) routes() {
	api := humago.New(s.mux, huma.Config{
		OpenAPI:                      newOpenAPI(),
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
	s.vmRoutes(api)
	s.hostRoutes(api)
	s.configRoutes(api)
	s.actionRoutes(api)
	s.eventRoutes(api)
	s.applyRoute(api)
	s.systemRoutes(api)
	s.serveOpenAPI(api)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	logged := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	handler, pattern := s.mux.Handler(r)
	switch {
	case pattern == "":
		s.noRoute(logged, r, handler)
	case r.URL.Path != healthURL && !s.awaitRegistry(r.Context()):
		answerStarting(logged)
	default:
		s.mux.ServeHTTP(logged, r)
	}
	level := s.log.Debug
	if r.Method != http.MethodGet {
		level = s.log.Info
	}
	level("request", "method", r.Method, "url", r.URL.RequestURI(), "status", logged.status, "by", peer(r.Context()),
		"duration", time.Since(began).Round(time.Microsecond))
}

// noRoute answers what the mux has no handler for as it would, but as a problem.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	verdict := &headerOnly{header: http.Header{}}
	handler.ServeHTTP(verdict, r)
	p := newProblem(verdict.status, "there is nothing at "+r.URL.Path+": /openapi.yaml lists the URLs")
	if allowed := verdict.header.Get("Allow"); allowed != "" {
		w.Header().Set("Allow", allowed)
		p.Detail = r.URL.Path + " does not understand " + r.Method + ": use " + allowed
	}
	if location := verdict.header.Get("Location"); location != "" {
		w.Header().Set("Location", location)
		p.Detail = "this is at " + location
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = huma.DefaultJSONFormat.Marshal(w, p) // who has hung up reads no answer
}

// headerOnly keeps what a handler says about itself, and not its text.
type headerOnly struct {
	header http.Header
	status int
}

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) WriteHeader(status int)      { h.status = status }
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }

// statusWriter remembers the status for the log.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// output is an answer with a body.
type output[T any] struct{ Body T }

// respond makes an answer of what the registry returned.
func respond[T any](s *Server, value T, err error) (*output[T], error) {
	if err != nil {
		return nil, s.problemOf(err)
	}
	return &output[T]{value}, nil
}

// InNamespace and Named are the parts of URLs, as inputs of handlers embed them.
type (
	InNamespace struct {
		Namespace string `path:"namespace" doc:"The namespace."`
	}
	Named struct {
		Name string `path:"name" doc:"The object's name."`
	}
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// register adds an operation. With body, the operation reads a body that the strict decoder checks, not huma: the type is for
// the OpenAPI document.
func register[I, O any](api huma.API, op huma.Operation, body reflect.Type, handler func(context.Context, *I) (*O, error)) {
	op.BodyReadTimeout = bodyTimeout
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxObjectBytes
	}
	op.SkipValidateBody = body != nil
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return handler(ctx, in)
	})
	if body != nil {
		content := operation(api, op.Method, op.Path).RequestBody.Content
		for contentType := range content {
			content[contentType] = &huma.MediaType{Schema: api.OpenAPI().Components.Schemas.Schema(body, true, "")}
		}
	}
}

// operation finds what was registered.
func operation(api huma.API, method, path string) *huma.Operation {
	item := api.OpenAPI().Paths[path]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete,
	}[method]
}
