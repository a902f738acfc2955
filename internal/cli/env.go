package cli

import (
	"context"
	"io"
	"time"

	"github.com/holdfast-vm/holdfast/client"
)

// DefaultSocket is where the server listens unless told otherwise.
const DefaultSocket = "/run/holdfast/holdfast.sock"

// SocketVariable is the environment variable that names another socket.
const SocketVariable = "HOLDFAST_SOCKET"

// Env is the world a command runs in.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Width is the width in columns of the terminal that Err is; zero means that it is none.
	Width int
	// Interactive: In is a terminal, so that somebody can be asked.
	Interactive bool
	// Getenv reads the environment; nil means that it is empty.
	Getenv func(string) string
	// Now is the clock; its location is the one that times are written in. Nil means the machine's.
	Now func() time.Time
	// AnswerTimeout is how long a command that does not wait looks for the control plane's answer to a request, which usually
	// comes at once. The request is durable anyhow. Zero means 3s.
	AnswerTimeout time.Duration
	// Version of this program.
	Version string
	// Serve runs a server until ctx ends.
	Serve func(ctx context.Context, o ServerOptions) error
}

// app is what the commands share: their world and the global flags.
type app struct {
	Env
	socket    string
	namespace string
}

func newApp(e Env) *app {
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.AnswerTimeout == 0 {
		e.AnswerTimeout = 3 * time.Second
	}
	return &app{Env: e}
}

// client speaks to the server that the flags or the environment name.
func (a *app) client() *client.Client { return client.New(a.socketPath()) }

func (a *app) socketPath() string {
	if a.socket != "" {
		return a.socket
	}
	if s := a.Getenv(SocketVariable); s != "" {
		return s
	}
	return DefaultSocket
}
