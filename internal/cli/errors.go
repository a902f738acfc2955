package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-vm/holdfast/client"
)

// The exit codes. They are a promise to scripts; exitCodesHelp documents them.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitRefused     = 4
	ExitTimeout     = 5
	ExitUnreachable = 6
	ExitInterrupted = 130
)

// failure is an error that knows its exit code.
type failure struct {
	code int
	text string
	err  error // nil: text says it all
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

func usageError(format string, args ...any) error {
	return &failure{code: ExitUsage, text: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &failure{code: ExitNotFound, text: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) error {
	return &failure{code: ExitRefused, text: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) error {
	return &failure{code: ExitError, text: fmt.Sprintf(format, args...)}
}

// exitCode is what the process returns for err. Of several errors the first decides.
func exitCode(err error) int {
	var f *failure
	var many interface{ Unwrap() []error }
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &f):
		return f.code
	case errors.As(err, &many) && len(many.Unwrap()) > 0:
		return exitCode(many.Unwrap()[0])
	case client.IsNotFound(err):
		return ExitNotFound
	case client.IsConflict(err):
		return ExitRefused
	case client.IsUnavailable(err):
		return ExitUnreachable
	case errors.Is(err, context.DeadlineExceeded):
		return ExitTimeout
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	default:
		return ExitError
	}
}

// report writes err for people: one "Error:" for each thing that failed.
func report(w io.Writer, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			report(w, e)
		}
		return
	}
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		text = "interrupted; what has been asked for goes on"
	case errors.Is(err, context.DeadlineExceeded) && exitCode(err) == ExitTimeout && strings.HasPrefix(text, "context "):
		text = "timed out; what has been asked for goes on"
	}
	fmt.Fprintf(w, "Error: %s\n", text)
}
