package etcd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/etcd"
)

// Whatever way an error takes, callers find the store's own in it, and people what etcd said.
func TestErrors(t *testing.T) {
	passing := []error{
		rpctypes.ErrGRPCNoLeader, rpctypes.ErrGRPCLeaderChanged, rpctypes.ErrGRPCStopped, rpctypes.ErrGRPCTimeout,
		rpctypes.ErrGRPCTimeoutDueToLeaderFail, rpctypes.ErrGRPCTimeoutDueToConnectionLost, rpctypes.ErrGRPCTimeoutWaitAppliedIndex,
		rpctypes.ErrGRPCUnhealthy, rpctypes.ErrGRPCRequestTooManyRequests, rpctypes.ErrGRPCDeadlineExceeded,
		status.Error(codes.Unavailable, "connection refused"),
	}
	smaller := errors.New("not a store's error")
	wants := map[error]error{
		rpctypes.ErrGRPCNoSpace:         store.ErrNoSpace,
		rpctypes.ErrGRPCCompacted:       store.ErrCompacted,
		rpctypes.ErrGRPCTooManyOps:      smaller,
		rpctypes.ErrGRPCRequestTooLarge: smaller,
		status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 2)"): smaller,
		rpctypes.ErrGRPCPermissionDenied: nil,
		errors.New("gremlins"):           nil,
	}
	for _, err := range passing {
		wants[err] = store.ErrUnavailable
	}
	for said, want := range wants {
		for way, err := range map[string]error{
			"as a status": said, "as etcd's own": rpctypes.Error(said), "wrapped": fmt.Errorf("ask: %w", rpctypes.Error(said)),
		} {
			got := etcd.Translate(err)
			for _, known := range []error{store.ErrNoSpace, store.ErrCompacted, store.ErrUnavailable} {
				if errors.Is(got, known) != (want == known) {
					t.Errorf("%v %s: %v", said, way, got)
				}
			}
			if advises := strings.Contains(got.Error(), "--max-request-bytes"); advises != (want == smaller) {
				t.Errorf("%v %s: %v; tells of etcd's flags: %v", said, way, got, advises)
			}
			if want != store.ErrNoSpace && want != store.ErrCompacted && !errors.Is(got, err) {
				t.Errorf("%v %s: %v does not tell what etcd said", said, way, got)
			}
		}
	}
}
