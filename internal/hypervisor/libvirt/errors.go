package libvirt

import (
	"errors"
	"fmt"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/holdfast-vm/holdfast/internal/hypervisor"
)

// asAnswer is the port's error for what the host answered, nil when the error is not the host's answer.
func asAnswer(op string, err error) error {
	if hypervisor.Answered(err) {
		return err
	}
	if errors.Is(err, golibvirt.ErrUnsupported) {
		return &hypervisor.HostError{Op: op, Message: "the host's libvirt is too old: it does not know this call"}
	}
	var e golibvirt.Error
	if !errors.As(err, &e) || lostBehindProxy(e) {
		return nil
	}
	if hasCode(err, golibvirt.ErrNoDomain) {
		return fmt.Errorf("%s: %w", op, hypervisor.ErrNotFound)
	}
	return &hostAnswer{HostError: hypervisor.HostError{Op: op, Message: e.Message}, code: golibvirt.ErrorNumber(e.Code)}
}

// hostAnswer is a HostError that still knows libvirt's code.
type hostAnswer struct {
	hypervisor.HostError
	code golibvirt.ErrorNumber
}

// Error implements error.
func (a *hostAnswer) Error() string { return a.HostError.Error() }

// Unwrap makes errors.As find the HostError.
func (a *hostAnswer) Unwrap() error { return &a.HostError }

// hasCode reports whether the host answered with that code.
func hasCode(err error, code golibvirt.ErrorNumber) bool {
	var e golibvirt.Error
	if errors.As(err, &e) {
		return golibvirt.ErrorNumber(e.Code) == code
	}
	var a *hostAnswer
	return errors.As(err, &a) && a.code == code
}

// lostBehindProxy recognises an "answer" that virtproxyd made up because it lost the daemon behind it: whether that daemon has
// carried the call out is not known. The error's domain, which would say so, does not get through go-libvirt.
func lostBehindProxy(e golibvirt.Error) bool {
	if golibvirt.ErrorNumber(e.Code) == golibvirt.ErrRPC {
		return true
	}
	for _, text := range []string{
		"Cannot recv data", "Cannot write data", "End of file while reading data", "client socket is closed",
		"connection closed due to keepalive timeout",
	} {
		if strings.Contains(e.Message, text) {
			return true
		}
	}
	return false
}
