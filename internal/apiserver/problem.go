package apiserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
)

// problem is a v1.Problem as huma wants errors to be.
type problem struct{ v1.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

func newProblem(status int, detail string, errs ...v1.ProblemError) *problem {
	return &problem{v1.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: errs}}
}

// huma makes its own errors (of parameters, of bodies too large) through a variable of its package, and takes every array in the
// OpenAPI document for one that may be null unless another says no.
func init() {
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		switch {
		case status == http.StatusUnsupportedMediaType:
			message = "the body's type is not known here: send the header Content-Type: application/json"
		case message == "validation failed":
			message = "the request is not valid"
		}
		p := newProblem(status, message)
		for _, err := range errs {
			e := v1.ProblemError{Message: err.Error()}
			if detailer, ok := err.(huma.ErrorDetailer); ok {
				e = v1.ProblemError{Message: detailer.ErrorDetail().Message, Location: detailer.ErrorDetail().Location}
			}
			p.Errors = append(p.Errors, e)
		}
		return p
	}
}

// problemOf says an error of the registry in HTTP's words. It is nil for nil.
func (s *Server) problemOf(err error) error {
	if err == nil {
		return nil
	}
	var (
		ready      *problem
		notFound   *registry.NotFoundError
		conflict   *registry.ConflictError
		terminated *registry.TerminatingError
		invalid    *registry.InvalidError
		tooLarge   *registry.TooLargeError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, err.Error())
	case errors.As(err, &invalid):
		return newProblem(http.StatusUnprocessableEntity, invalid.Ref.String()+" is not valid", problemErrors(invalid)...)
	case errors.As(err, &notFound):
		return newProblem(http.StatusNotFound, err.Error())
	case errors.As(err, &conflict):
		return newProblem(http.StatusConflict, conflict.Error(), problemErrors(conflict)...)
	case errors.As(err, &terminated):
		return newProblem(http.StatusConflict, err.Error())
	case errors.Is(err, registry.ErrExpired):
		return newProblem(http.StatusGone, err.Error())
	case errors.Is(err, store.ErrNoSpace):
		return newProblem(http.StatusServiceUnavailable,
			err.Error()+": nothing can be changed until there is; what runs goes on running")
	case errors.Is(err, store.ErrUnavailable):
		return newProblem(http.StatusServiceUnavailable, err.Error()+". Ask again in a moment; a change that was asked for may have been made. "+
			"If it stays so, look at etcd: whether most of its members run and reach each other, and whether its disk keeps up. Guests run on.")
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrClosed):
		return newProblem(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem(http.StatusServiceUnavailable, "the store did not answer in time; look whether the request had its effect, "+
			"and ask again: "+err.Error())
	}
	s.log.Error("a request failed", "error", err)
	return newProblem(http.StatusInternalServerError, err.Error())
}

// problemErrors are the single errors in one of the registry's errors.
func problemErrors(err error) []v1.ProblemError {
	var conflict *registry.ConflictError
	var invalid *registry.InvalidError
	var out []v1.ProblemError
	switch {
	case errors.As(err, &invalid):
		for _, f := range invalid.Fields {
			out = append(out, fieldProblem(f))
		}
	case errors.As(err, &conflict):
		out = append(out, fieldProblem(v1.FieldError{Field: conflict.Field, Problem: conflict.Problem, Remedy: conflict.Remedy}))
	default:
		out = append(out, v1.ProblemError{Message: err.Error()})
	}
	return out
}

// writeErrors are the statuses that the OpenAPI document names for a write.
var writeErrors = []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}

func fieldProblem(f v1.FieldError) v1.ProblemError {
	return v1.ProblemError{Location: f.Field, Message: v1.FieldError{Problem: f.Problem, Remedy: f.Remedy}.Error()}
}
