package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// defaultKeys are tried in this order when the URI names no key.
var defaultKeys = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// dialSSH connects to the host's libvirt socket through SSH. Keys come from the URI's keyfile or the user's own, and from the agent;
// the host's key must be in known_hosts: a host that nobody has vouched for is refused.
func (t *target) dialSSH(ctx context.Context) (net.Conn, error) {
	files, err := readFiles(ctx, "SSH's files (known_hosts and keys)", t.sshFiles)
	if err != nil {
		return nil, fmt.Errorf("SSH: %w", err)
	}
	keys := openAgent(ctx)
	defer keys.close()
	signers := append(files.signers, keys.signers()...)
	if err := keys.hung(ctx); err != nil {
		return nil, err
	}
	if len(signers) == 0 {
		return nil, errors.New("SSH: no key: start an SSH agent, or name a key without passphrase with ?keyfile=PATH")
	}
	raw, err := t.dialTCP(ctx, sshPort)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn, err := openSocketOverSSH(raw, net.JoinHostPort(t.host, cmp.Or(t.port, sshPort)), &ssh.ClientConfig{
		User: files.user, HostKeyCallback: files.hostKeys, Auth: []ssh.AuthMethod{ssh.PublicKeys(signers...)},
	}, cmp.Or(t.query.Get("socket"), monolithicSocket))
	if ctx.Err() != nil {
		err = cmp.Or(keys.hung(ctx), context.Cause(ctx))
	}
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("SSH: %w", err)
	}
	return &abruptConn{Conn: conn, raw: raw}, nil
}

func openSocketOverSSH(raw net.Conn, address string, config *ssh.ClientConfig, socket string) (net.Conn, error) {
	session, channels, requests, err := ssh.NewClientConn(raw, address, config)
	if err != nil {
		return nil, err
	}
	conn, err := ssh.NewClient(session, channels, requests).Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("open %s there: %w", socket, err)
	}
	return conn, nil
}

// sshFiles are what the user's SSH has in files.
type sshFiles struct {
	user     string // who to be on the host
	hostKeys ssh.HostKeyCallback
	signers  []ssh.Signer
}

func (t *target) sshFiles() (*sshFiles, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(me.HomeDir, ".ssh")
	hostKeys, err := knownhosts.New(cmp.Or(t.query.Get("known_hosts"), filepath.Join(dir, "known_hosts")))
	if err != nil {
		return nil, fmt.Errorf("load known hosts: %w", err)
	}
	signers, err := t.keySigners(dir)
	return &sshFiles{user: cmp.Or(t.user, me.Username), hostKeys: hostKeys, signers: signers}, err
}

// keySigners loads the key that the URI names, which must work, or those of the default ones that do.
func (t *target) keySigners(dir string) ([]ssh.Signer, error) {
	if path := t.query.Get("keyfile"); path != "" {
		s, err := loadKey(path)
		if err != nil {
			return nil, err
		}
		return []ssh.Signer{s}, nil
	}
	var signers []ssh.Signer
	for _, name := range defaultKeys {
		if s, err := loadKey(filepath.Join(dir, name)); err == nil {
			signers = append(signers, s)
		}
	}
	return signers, nil
}

func loadKey(path string) (ssh.Signer, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load key: %w", err)
	}
	s, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return nil, fmt.Errorf("load key %s: %w", path, err)
	}
	return s, nil
}
