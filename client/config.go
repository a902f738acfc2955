package client

import (
	"context"
	"net/http"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const configPath = root + "/clusterconfig"

// GetConfig reads the cluster's configuration. There always is one.
func (c *Client) GetConfig(ctx context.Context) (*v1.ClusterConfig, error) {
	return call[v1.ClusterConfig](ctx, c, http.MethodGet, configPath, nil, nil)
}

// UpdateConfig replaces the cluster's configuration, with a resource version only if it has not changed since that was read.
func (c *Client) UpdateConfig(ctx context.Context, config *v1.ClusterConfig) (*v1.ClusterConfig, error) {
	return call[v1.ClusterConfig](ctx, c, http.MethodPut, configPath, nil, typed(v1.KindClusterConfig, config))
}
