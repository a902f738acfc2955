package registry

import (
	"context"
	"errors"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// Config reads the cluster's configuration.
func (r *Registry) Config(ctx context.Context) (*v1.ClusterConfig, error) {
	o, _, err := r.get(ctx, kindConfig, "", v1.ClusterConfigName)
	if err != nil {
		return nil, err
	}
	return o.(*v1.ClusterConfig), nil
}

// UpdateConfig replaces the cluster's configuration, as UpdateVM does for a VM. The cluster's uid stays.
func (r *Registry) UpdateConfig(ctx context.Context, c *v1.ClusterConfig) (*v1.ClusterConfig, error) {
	return write(ctx, r, c, updateOnly)
}

// EnsureCluster reads the cluster's configuration, and makes one with a new uid when the store is new.
func (r *Registry) EnsureCluster(ctx context.Context) (*v1.ClusterConfig, error) {
	config, err := r.Config(ctx)
	if !errors.As(err, new(*NotFoundError)) {
		return config, err
	}
	config, err = write(ctx, r, &v1.ClusterConfig{}, createOnly)
	if errors.As(err, new(*ConflictError)) {
		return r.Config(ctx) // another process was faster
	}
	return config, err
}
