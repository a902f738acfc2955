package apiserver

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const (
	configURL = root + "/clusterconfig"
	configTag = "Cluster configuration"
)

type configUpdateInput struct {
	RawBody []byte `contentType:"application/json"`
}

func (s *Server) configRoutes(api huma.API) {
	register(api, huma.Operation{Method: http.MethodGet, Path: configURL, OperationID: "getConfig",
		Summary: "Read the cluster's configuration", Tags: []string{configTag}, Errors: []int{http.StatusServiceUnavailable}}, nil,
		func(ctx context.Context, _ *struct{}) (*output[*v1.ClusterConfig], error) {
			config, err := s.registry.Config(ctx)
			return respond(s, config, err)
		})

	register(api, huma.Operation{Method: http.MethodPut, Path: configURL, OperationID: "updateConfig",
		Summary: "Replace the cluster's configuration", Tags: []string{configTag}, Errors: writeErrors}, typeOf[v1.ClusterConfig](),
		func(ctx context.Context, in *configUpdateInput) (*output[*v1.ClusterConfig], error) {
			config, err := decode[v1.ClusterConfig](in.RawBody, v1.ObjectRef{Kind: v1.KindClusterConfig, Name: v1.ClusterConfigName})
			if err != nil {
				return nil, err
			}
			config, err = s.registry.UpdateConfig(ctx, config)
			return respond(s, config, err)
		})
}
