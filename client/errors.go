package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Problem is the server's answer to a request that failed.
type Problem struct {
	v1.Problem
}

// Error is the detail, which stands on its own, and the single errors below it.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = fmt.Sprintf("the server answered %d %s", p.Status, p.Title)
	}
	for _, e := range p.Errors {
		if strings.Contains(p.Detail, e.Message) {
			continue // the only error is the detail, too
		}
		text += "\n  " + FormatError(e)
	}
	return text
}

// FormatError writes one error as compilers do: file, line and column as far as known, field, message.
func FormatError(e v1.ProblemError) string {
	where := e.File
	if e.Line > 0 {
		if where == "" {
			where = "line "
		} else {
			where += ":"
		}
		where += fmt.Sprint(e.Line)
		if e.Column > 0 {
			where += fmt.Sprintf(":%d", e.Column)
		}
	}
	text := e.Message
	if e.Location != "" {
		text = e.Location + ": " + text
	}
	if where != "" {
		text = where + ": " + text
	}
	return text
}

// ConnectionError means that the server could not be reached, or that the connection broke before the whole answer was there:
// then the request may have had its effect.
type ConnectionError struct {
	// Socket is the path.
	Socket string
	// Err is what happened.
	Err error
}

// Error says what to do about it.
func (e *ConnectionError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("may not open the Holdfast server's socket %s: only the user that runs the server may; "+
			"become that user (sudo), or name another socket with --socket", e.Socket)
	case e.NotRunning():
		return fmt.Sprintf("the Holdfast server is not running at %s: start it with `holdfast server` or name its socket with --socket",
			e.Socket)
	}
	if op := e.dial(); op != nil {
		return fmt.Sprintf("cannot connect to the Holdfast server at %s (%v): name the socket of a running server with --socket; nothing was sent",
			e.Socket, op.Err)
	}
	return fmt.Sprintf("the connection to the Holdfast server at %s broke (%s); the request may or may not have had its effect: "+
		"see what is there before you ask again", e.Socket, e.broke())
}

// broke is how the connection ended, without what the layers above add to it: method, URL, address.
func (e *ConnectionError) broke() string {
	var number syscall.Errno
	var request *url.Error
	switch {
	case errors.As(e.Err, &number):
		return number.Error()
	case errors.Is(e.Err, io.EOF), errors.Is(e.Err, io.ErrUnexpectedEOF):
		return "the server closed it before the whole answer was there"
	case errors.As(e.Err, &request):
		return request.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap gives what happened.
func (e *ConnectionError) Unwrap() error { return e.Err }

// NotRunning reports whether nobody listens on the socket: nothing was sent.
func (e *ConnectionError) NotRunning() bool {
	return e.dial() != nil && (errors.Is(e.Err, fs.ErrNotExist) || errors.Is(e.Err, syscall.ECONNREFUSED))
}

// dial is why the connection was never made; nil when it was.
func (e *ConnectionError) dial() *net.OpError {
	var op *net.OpError
	if errors.As(e.Err, &op) && op.Op == "dial" {
		return op
	}
	return nil
}

// connectionError wraps err, unless the caller's context is the cause: then it is the context's.
func (c *Client) connectionError(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	return &ConnectionError{Socket: c.socket, Err: err}
}

// IsNotFound reports whether the object does not exist.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsConflict reports whether the request contradicts what is there: the object exists already, has changed since it was read,
// or is being deleted.
func IsConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

// IsInvalid reports whether the server understood the request and refuses it for what it says.
func IsInvalid(err error) bool {
	return hasStatus(err, http.StatusUnprocessableEntity) || hasStatus(err, http.StatusBadRequest) ||
		hasStatus(err, http.StatusRequestEntityTooLarge)
}

// IsGone reports whether a watch asked for changes that are too old.
func IsGone(err error) bool { return hasStatus(err, http.StatusGone) }

// IsUnavailable reports whether the server or its store cannot serve now: the same request may succeed later.
func IsUnavailable(err error) bool {
	var connection *ConnectionError
	return errors.As(err, &connection) || hasStatus(err, http.StatusServiceUnavailable)
}

func hasStatus(err error, status int) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status == status
}
