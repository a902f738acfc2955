package apiserver

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

const (
	actionsURL = root + "/namespaces/{namespace}/actions"
	actionTag  = "Actions"
)

type (
	actionPostInput struct {
		InNamespace
		Named
		Body v1.ActionRequest
	}
	actionInput struct {
		InNamespace
		ID string `path:"id" doc:"The request id of the action."`
	}
	actionListInput struct {
		InNamespace
		Selecting
		Watching
	}
	actionListAllInput struct {
		Selecting
		Watching
	}
)

func (s *Server) actionRoutes(api huma.API) {
	actions := objects[v1.Action](s, v1.KindAction, actionTag)
	registerList(s, api, huma.Operation{Path: actionsURL, OperationID: "listActions", Summary: "List or watch the actions of a namespace"},
		actions, func(in *actionListInput) (string, Watching, filter, error) {
			f, err := in.filter()
			return in.Namespace, in.Watching, f, err
		})
	registerList(s, api, huma.Operation{Path: root + "/actions", OperationID: "listAllActions",
		Summary: "List or watch the actions of all namespaces"}, actions,
		func(in *actionListAllInput) (string, Watching, filter, error) {
			f, err := in.filter()
			return "", in.Watching, f, err
		})

	register(api, huma.Operation{Method: http.MethodGet, Path: actionsURL + "/{id}", OperationID: "getAction", Summary: "Read an action",
		Tags: []string{actionTag}, Errors: []int{http.StatusNotFound}}, nil,
		func(ctx context.Context, in *actionInput) (*output[*v1.Action], error) {
			action, err := s.registry.GetAction(ctx, in.Namespace, in.ID)
			return respond(s, action, err)
		})

	register(api, huma.Operation{Method: http.MethodPost, Path: vmURL + "/actions", OperationID: "postAction",
		Summary: "Start, stop or restart a VM",
		Description: "Accepted means durable: the action takes effect exactly once, and its status says what became of it. " +
			"The same requestID again is the same action.",
		Tags: []string{actionTag}, DefaultStatus: http.StatusAccepted, Errors: append(writeErrors, http.StatusNotFound)}, nil,
		func(ctx context.Context, in *actionPostInput) (*output[*v1.Action], error) {
			action, err := s.registry.PostAction(ctx, in.Namespace, in.Name, registry.ActionRequest{
				ID: in.Body.RequestID, Type: in.Body.Type, Force: in.Body.Force, By: peer(ctx), TTL: in.Body.TTL.Std()})
			return respond(s, action, err)
		})
}
