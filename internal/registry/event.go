package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

// EventFilter chooses events; empty fields choose all. Hosts' events have no namespace: an empty one finds them.
type EventFilter struct{ Namespace, Kind, Name string }

// ListEvents reads events, the one that happened last at the end; the string is the resourceVersion to watch from.
func (r *Registry) ListEvents(ctx context.Context, f EventFilter) ([]*v1.Event, string, error) {
	kvs, at, err := r.st.List(ctx, f.prefix())
	if err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	var events []*v1.Event
	for _, kv := range kvs {
		e, err := decodeEvent(kv)
		if err != nil {
			return nil, "", err
		}
		if (f.Kind == "" || e.Object.Kind == f.Kind) && (f.Name == "" || e.Object.Name == f.Name) {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b *v1.Event) int {
		if c := a.LastAt.Compare(b.LastAt); c != 0 {
			return c
		}
		return strings.Compare(a.Metadata.Name, b.Metadata.Name)
	})
	return events, strconv.FormatInt(at, 10), nil
}

// prefix is the narrowest that all chosen events share: those about one object are not searched for among all.
func (f EventFilter) prefix() string {
	if k, ok := kinds[f.Kind]; ok && !k.namespaced && f.Namespace == "" {
		f.Namespace = layout.NoNamespace
	}
	prefix := layout.Event
	for _, part := range []string{f.Namespace, f.Kind, f.Name} {
		if part == "" {
			break
		}
		prefix += part + "/"
	}
	return prefix
}
