package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const jsonType = "application/json"

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
	// reached is set when the server has answered once: watches then wait for it to come back.
	reached atomic.Bool
}

// New makes a client of the server that listens on the unix socket. It connects with the first request, not before.
func New(socketPath string) *Client {
	dialer := &net.Dialer{}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socketPath)
		},
		MaxIdleConnsPerHost: 16,
	}
	return &Client{socket: socketPath, http: &http.Client{Transport: transport}}
}

// Socket is the path given to New.
func (c *Client) Socket() string { return c.socket }

// Close closes idle connections. Requests under way go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Version says which server answers, and who leads.
func (c *Client) Version(ctx context.Context) (*v1.VersionInfo, error) {
	return call[v1.VersionInfo](ctx, c, http.MethodGet, "/version", nil, nil)
}

// Ready returns nil when the server can serve requests: it listens, and its store answers.
func (c *Client) Ready(ctx context.Context) error {
	resp, err := c.send(ctx, http.MethodGet, "/readyz", nil, "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// call sends in as JSON (nil: no body) and reads the answer.
func call[Out any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (*Out, error) {
	var body []byte
	contentType := ""
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", method, path, err)
		}
		contentType = jsonType
	}
	return callRaw[Out](ctx, c, method, path, query, contentType, body)
}

// callRaw sends body as it is and reads the answer.
func callRaw[Out any](ctx context.Context, c *Client, method, path string, query url.Values, contentType string,
	body []byte) (*Out, error) {
	resp, err := c.send(ctx, method, path, query, contentType, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := new(Out)
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return nil, c.connectionError(ctx, fmt.Errorf("read the answer to %s %s: %w", method, path, err))
	}
	return out, nil
}

// send returns a response with a status below 300, whose body the caller closes; anything else is an error: a *Problem, a
// *ConnectionError, or ctx's.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, contentType string,
	body []byte) (*http.Response, error) {
	target := "http://holdfast" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	c.reached.Store(true)
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, readProblem(resp)
}

// readProblem makes a problem of a response that tells of a failure, whoever wrote it.
func readProblem(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	problem := &Problem{}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/problem+json" || json.Unmarshal(text, &problem.Problem) != nil {
		problem.Problem = v1.Problem{Type: "about:blank", Detail: strings.TrimSpace(string(text))}
	}
	problem.Status = resp.StatusCode
	if problem.Title == "" {
		problem.Title = http.StatusText(resp.StatusCode)
	}
	return problem
}
