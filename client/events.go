package client

import (
	"context"
	"net/url"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// EventOptions narrow events to one object or kind.
type EventOptions struct {
	// Kind and Name of the object that the events are about; empty means any.
	Kind, Name string
}

func (o EventOptions) query() url.Values {
	q := url.Values{}
	if o.Kind != "" {
		q.Set("kind", o.Kind)
	}
	if o.Name != "" {
		q.Set("name", o.Name)
	}
	return q
}

// ListEvents reads the events of a namespace; empty means of all, and of objects that have no namespace. The newest come last.
func (c *Client) ListEvents(ctx context.Context, namespace string, o EventOptions) (*v1.List[v1.Event], error) {
	return events.list(ctx, c, namespace, o.query())
}

// WatchEvents reports the events and what becomes of them: the same thing again is a change of the count. See Watch.
func (c *Client) WatchEvents(ctx context.Context, namespace string, o EventOptions) Watch[v1.Event] {
	return events.watchQuery(ctx, c, namespace, o.query(), nil)
}
