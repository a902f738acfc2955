package apiserver

import (
	"context"
	"net"
	"os/user"
	"strconv"
	"syscall"
)

type peerKey struct{}

// withPeer notes in a connection's context who is at its other end. The kernel says so, not the client.
func withPeer(ctx context.Context, connection net.Conn) context.Context {
	unix, ok := connection.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return ctx
	}
	var credentials *syscall.Ucred
	if raw.Control(func(fd uintptr) {
		credentials, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}) != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, userName(credentials.Uid))
}

// peer is the user who asks, or empty when that is not known.
func peer(ctx context.Context) string {
	name, _ := ctx.Value(peerKey{}).(string)
	return name
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}
