package client

import (
	"context"
	"net/http"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// CreateHost registers a host; one of the same name is a conflict.
func (c *Client) CreateHost(ctx context.Context, h *v1.Host) (*v1.Host, error) {
	return hosts.create(ctx, c, h)
}

// UpdateHost replaces a host's labels, annotations and spec, as UpdateVM does a VM's.
func (c *Client) UpdateHost(ctx context.Context, h *v1.Host) (*v1.Host, error) {
	return hosts.update(ctx, c, h)
}

// GetHost reads one host.
func (c *Client) GetHost(ctx context.Context, name string) (*v1.Host, error) {
	return hosts.get(ctx, c, "", name)
}

// ListHosts reads the hosts.
func (c *Client) ListHosts(ctx context.Context, o ListOptions) (*v1.List[v1.Host], error) {
	return hosts.list(ctx, c, "", o.query())
}

// DeleteHost makes Holdfast forget a host, and returns the host as it was. It is a conflict while a VM has something there.
func (c *Client) DeleteHost(ctx context.Context, name string) (*v1.Host, error) {
	return hosts.delete(ctx, c, "", name, DeleteOptions{})
}

// CordonHost keeps new instances away from a host; what runs there runs on. A cordoned host stays so.
func (c *Client) CordonHost(ctx context.Context, name string) (*v1.Host, error) {
	return call[v1.Host](ctx, c, http.MethodPost, hosts.at("", name)+"/cordon", nil, nil)
}

// UncordonHost lets instances start on a host again.
func (c *Client) UncordonHost(ctx context.Context, name string) (*v1.Host, error) {
	return call[v1.Host](ctx, c, http.MethodPost, hosts.at("", name)+"/uncordon", nil, nil)
}

// ConfirmHostDown vouches for a host running nothing, so that its VMs start elsewhere. If it does run something, that runs twice and
// ruins its disks. It is a conflict unless the host is Unreachable.
func (c *Client) ConfirmHostDown(ctx context.Context, name string) (*v1.Host, error) {
	return call[v1.Host](ctx, c, http.MethodPost, hosts.at("", name)+"/confirm-down", nil, nil)
}

// WatchHosts reports the hosts and what becomes of them. See Watch.
func (c *Client) WatchHosts(ctx context.Context, o WatchOptions) Watch[v1.Host] {
	return hosts.watch(ctx, c, "", o)
}

// WaitHost waits for a host as WaitVM does for a VM.
func (c *Client) WaitHost(ctx context.Context, name string, cond func(*v1.Host) (done bool, err error)) (*v1.Host, error) {
	return hosts.wait(ctx, c, "", name, cond)
}
