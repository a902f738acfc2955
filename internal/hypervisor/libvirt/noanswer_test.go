package libvirt

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUnanswered(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	const remedy = "; see whether it hangs: virsh list on the host, and its log"
	for want, waited := range map[string]time.Duration{
		"libvirtd has not answered within 10s (start domain x)" + remedy:              10*time.Second + 3*time.Millisecond,
		"libvirtd answers too slowly, and no time was left (start domain x)" + remedy: 0,
	} {
		err := unanswered(late, "start domain x", time.Now().Add(-waited))
		if err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline's error, as: %s", err, want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := unanswered(stopped, "start domain x", time.Now()); err.Error() != "start domain x: context canceled" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was canceled", err)
	}
}
