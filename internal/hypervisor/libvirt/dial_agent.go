package libvirt

import (
	"context"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshAgent is the user's SSH agent while one connection is made: it lists its keys, and signs with them. Nil: there is none, which is
// no error while there are keys in files.
type sshAgent struct {
	*askedConn
	path string
	stop func() bool
}

// openAgent connects to the agent. When ctx ends, so does whatever it is being asked.
func openAgent(ctx context.Context) *sshAgent {
	path := os.Getenv("SSH_AUTH_SOCK")
	if path == "" {
		return nil
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil
	}
	return &sshAgent{askedConn: &askedConn{Conn: raw}, path: path, stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
}

// signers are the agent's keys. One that answers with an error has none.
func (a *sshAgent) signers() []ssh.Signer {
	if a == nil {
		return nil
	}
	signers, _ := agent.NewClient(a).Signers()
	return signers
}

// hung is the error when ctx ended while the agent owed an answer, so that it is not the host that is blamed.
func (a *sshAgent) hung(ctx context.Context) error {
	if a == nil || ctx.Err() == nil || !a.owes.Load() {
		return nil
	}
	return &unreached{what: "the SSH agent at " + a.path + " on this machine does not answer in time", err: context.Cause(ctx),
		next: "restart it, or start Holdfast's server without SSH_AUTH_SOCK and name a key without passphrase with ?keyfile=PATH"}
}

func (a *sshAgent) close() {
	if a != nil {
		a.stop()
		_ = a.Close()
	}
}

// askedConn knows whether the other side owes an answer. It is for a protocol that asks one thing at a time.
type askedConn struct {
	net.Conn
	owes atomic.Bool
}

// Write implements net.Conn.
func (c *askedConn) Write(b []byte) (int, error) {
	c.owes.Store(true)
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *askedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil {
		c.owes.Store(false)
	}
	return n, err
}
