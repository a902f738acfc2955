package apiserver

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const (
	hostsURL = root + "/hosts"
	hostURL  = hostsURL + "/{name}"
	hostTag  = "Hosts"
)

type (
	hostInput       struct{ Named }
	hostCreateInput struct {
		RawBody []byte `contentType:"application/json"`
	}
	hostUpdateInput struct {
		Named
		RawBody []byte `contentType:"application/json"`
	}
	hostListInput struct {
		Selecting
		Watching
	}
)

func (s *Server) hostRoutes(api huma.API) {
	hosts := objects[v1.Host](s, v1.KindHost, hostTag)
	registerList(s, api, huma.Operation{Path: hostsURL, OperationID: "listHosts", Summary: "List or watch the hosts"}, hosts,
		func(in *hostListInput) (string, Watching, filter, error) {
			f, err := in.filter()
			return "", in.Watching, f, err
		})

	register(api, huma.Operation{Method: http.MethodGet, Path: hostURL, OperationID: "getHost", Summary: "Read a host",
		Tags: []string{hostTag}, Errors: []int{http.StatusNotFound}}, nil,
		func(ctx context.Context, in *hostInput) (*output[*v1.Host], error) {
			host, err := s.registry.GetHost(ctx, in.Name)
			return respond(s, host, err)
		})

	register(api, huma.Operation{Method: http.MethodPost, Path: hostsURL, OperationID: "createHost", Summary: "Register a host",
		Tags: []string{hostTag}, DefaultStatus: http.StatusCreated, Errors: writeErrors}, typeOf[v1.Host](),
		func(ctx context.Context, in *hostCreateInput) (*output[*v1.Host], error) {
			host, err := decode[v1.Host](in.RawBody, v1.ObjectRef{Kind: v1.KindHost})
			if err != nil {
				return nil, err
			}
			host, err = s.registry.CreateHost(ctx, host)
			return respond(s, host, err)
		})

	register(api, huma.Operation{Method: http.MethodPut, Path: hostURL, OperationID: "updateHost",
		Summary: "Replace a host's spec, labels and annotations", Tags: []string{hostTag}, Errors: append(writeErrors, http.StatusNotFound)},
		typeOf[v1.Host](),
		func(ctx context.Context, in *hostUpdateInput) (*output[*v1.Host], error) {
			host, err := decode[v1.Host](in.RawBody, v1.ObjectRef{Kind: v1.KindHost, Name: in.Name})
			if err != nil {
				return nil, err
			}
			host, err = s.registry.UpdateHost(ctx, host)
			return respond(s, host, err)
		})

	register(api, huma.Operation{Method: http.MethodDelete, Path: hostURL, OperationID: "deleteHost", Summary: "Forget a host",
		Description: "Refused while a VM has an instance there or left something behind, unless the host was confirmed to be down; " +
			"refused for a host that is up and not cordoned. The answer is the host as it was.",
		Tags: []string{hostTag}, Errors: []int{http.StatusNotFound, http.StatusConflict}}, nil,
		func(ctx context.Context, in *hostInput) (*output[*v1.Host], error) {
			host, err := s.registry.GetHost(ctx, in.Name)
			if err == nil {
				err = s.registry.DeleteHost(ctx, in.Name)
			}
			return respond(s, host, err)
		})

	register(api, huma.Operation{Method: http.MethodPost, Path: hostURL + "/confirm-down", OperationID: "confirmHostDown",
		Summary: "Vouch for a host running nothing",
		Description: "A person's word that an unreachable host is down: its VMs start elsewhere. If it is not down, they run twice and " +
			"ruin their disks. Refused unless the host is Unreachable.",
		Tags: []string{hostTag}, Errors: []int{http.StatusNotFound, http.StatusConflict}}, nil,
		func(ctx context.Context, in *hostInput) (*output[*v1.Host], error) {
			host, err := s.registry.ConfirmHostDown(ctx, in.Name, peer(ctx))
			return respond(s, host, err)
		})

	for verb, unschedulable := range map[string]bool{"cordon": true, "uncordon": false} {
		summary := map[bool]string{true: "Keep new instances away from a host", false: "Let instances start on a host again"}[unschedulable]
		register(api, huma.Operation{Method: http.MethodPost, Path: hostURL + "/" + verb, OperationID: verb + "Host", Summary: summary,
			Tags: []string{hostTag}, Errors: []int{http.StatusNotFound}}, nil,
			func(ctx context.Context, in *hostInput) (*output[*v1.Host], error) {
				host, err := s.registry.SetUnschedulable(ctx, in.Name, unschedulable)
				return respond(s, host, err)
			})
	}
}
