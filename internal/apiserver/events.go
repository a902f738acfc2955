package apiserver

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

const eventTag = "Events"

type (
	eventListInput struct {
		InNamespace
		SelectingEvents
		Watching
	}
	eventListAllInput struct {
		SelectingEvents
		Watching
	}
)

func (s *Server) eventRoutes(api huma.API) {
	events := collection[v1.Event]{v1.KindEvent, eventTag, func(ctx context.Context, namespace string, f filter) ([]*v1.Event, string, error) {
		return s.registry.ListEvents(ctx, registry.EventFilter{Namespace: namespace, Kind: f.about, Name: f.name})
	}}
	registerList(s, api, huma.Operation{Path: root + "/namespaces/{namespace}/events", OperationID: "listEvents",
		Summary: "List or watch the events of a namespace, the newest last"}, events,
		func(in *eventListInput) (string, Watching, filter, error) {
			return in.Namespace, in.Watching, in.filter(), nil
		})
	registerList(s, api, huma.Operation{Path: root + "/events", OperationID: "listAllEvents",
		Summary: "List or watch all events, those of hosts among them, the newest last"}, events,
		func(in *eventListAllInput) (string, Watching, filter, error) {
			return "", in.Watching, in.filter(), nil
		})
}
