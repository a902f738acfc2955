package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// ActionRetryFor is how long PostAction goes on asking after the connection broke: long enough for a server to be restarted.
const ActionRetryFor = 30 * time.Second

// PostAction asks for an action on a VM. When it returns without an error, the action is durable: it takes effect exactly once,
// or Status says why not. A request without an id gets one; when the connection breaks in the middle, the request is repeated
// with the same id, which makes no second action.
func (c *Client) PostAction(ctx context.Context, namespace, vm string, request v1.ActionRequest) (*v1.Action, error) {
	if request.RequestID == "" {
		request.RequestID = NewRequestID()
	}
	path := vms.at(namespace, vm) + "/actions"
	giveUp := time.Now().Add(ActionRetryFor)
	sent := false
	for retry := newBackoff(); ; {
		action, err := call[v1.Action](ctx, c, http.MethodPost, path, nil, request)
		var connection *ConnectionError
		if errors.As(err, &connection) {
			sent = sent || connection.dial() == nil
			if !sent {
				return nil, err
			}
			if time.Now().Before(giveUp) && retry.wait(ctx) == nil {
				continue
			}
		} else if err == nil || ctx.Err() == nil {
			return action, err
		}
		return nil, fmt.Errorf("whether the server accepted the %s of VM %s/%s is not known: ask again with the request id %s, "+
			"which cannot do it twice: %w", request.Type, orDefault(namespace), vm, request.RequestID, cmp.Or(ctx.Err(), err))
	}
}

// NewRequestID makes up a request id: 26 random letters and digits.
func NewRequestID() string { return strings.ToLower(rand.Text()) }

// GetAction reads an action by its request id. An empty namespace means the default one.
func (c *Client) GetAction(ctx context.Context, namespace, id string) (*v1.Action, error) {
	return actions.get(ctx, c, namespace, id)
}

// ListActions reads the actions of a namespace (empty: of all) that are waiting, or were done or refused within the last hour.
func (c *Client) ListActions(ctx context.Context, namespace string) (*v1.List[v1.Action], error) {
	return actions.list(ctx, c, namespace, nil)
}

// WaitAction waits until an action has been applied or refused, and returns it.
func (c *Client) WaitAction(ctx context.Context, namespace, id string) (*v1.Action, error) {
	return actions.wait(ctx, c, namespace, id, func(a *v1.Action) (bool, error) {
		if a == nil {
			return false, fmt.Errorf("there is no action %s in namespace %s: actions are kept for an hour", id, orDefault(namespace))
		}
		return a.Status.Phase == v1.ActionApplied || a.Status.Phase == v1.ActionRefused, nil
	})
}
