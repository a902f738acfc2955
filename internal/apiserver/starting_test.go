package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-vm/holdfast/internal/apiserver"
)

func TestStarting(t *testing.T) {
	w := newWorld(t)
	ask := func(s *apiserver.Server, path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	s := apiserver.New(nil, apiserver.Options{})
	s.SetStartPatience(0)
	if a := ask(s, vmsPath); a.Code != http.StatusServiceUnavailable || a.Header().Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(a.Body.String(), "is starting and waits for its store") {
		t.Errorf("before there is a registry: %d %s", a.Code, a.Body)
	}
	if a := ask(s, "/healthz"); a.Code != http.StatusOK {
		t.Errorf("a server that is starting is alive: %d %s", a.Code, a.Body)
	}
	s.Attach(w.registry)
	if a := ask(s, vmsPath); a.Code != http.StatusOK {
		t.Errorf("afterwards: %d %s", a.Code, a.Body)
	}

	// Who asks a little early gets an answer a little late.
	s = apiserver.New(nil, apiserver.Options{})
	s.SetStartPatience(time.Hour)
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- ask(s, vmsPath) }()
	s.Attach(w.registry)
	if a := <-answered; a.Code != http.StatusOK {
		t.Errorf("a request that waited: %d %s", a.Code, a.Body)
	}
}
