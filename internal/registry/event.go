package registry

import (
	"context"
	"slices"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// EventFilter chooses events; empty fields choose all. Hosts' events have no namespace: an empty one finds them.
type EventFilter struct{ Namespace, Kind, Name string }

// ListEvents reads events, the one that happened last at the end; the string is the resourceVersion to watch from.
func (r *Registry) ListEvents(ctx context.Context, f EventFilter) ([]*v1.Event, string, error) {
	events, version, err := list[*v1.Event](ctx, r, kindEvent, f.Namespace)
	if err != nil {
		return nil, "", err
	}
	events = slices.DeleteFunc(events, func(e *v1.Event) bool {
		return f.Kind != "" && e.Object.Kind != f.Kind || f.Name != "" && e.Object.Name != f.Name
	})
	slices.SortStableFunc(events, func(a, b *v1.Event) int {
		if c := a.LastAt.Compare(b.LastAt); c != 0 {
			return c
		}
		return strings.Compare(a.Metadata.Name, b.Metadata.Name)
	})
	return events, version, nil
}
