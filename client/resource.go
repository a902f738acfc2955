package client

import (
	"context"
	"net/http"
	"net/url"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const root = "/api/v1"

// resource is a kind of objects as the API knows it.
type resource[T any] struct {
	kind string
	// collection is the last part of the URL; namespaced kinds stand below a namespace.
	collection string
	namespaced bool
}

var (
	vms     = resource[v1.VirtualMachine]{v1.KindVirtualMachine, "virtualmachines", true}
	hosts   = resource[v1.Host]{v1.KindHost, "hosts", false}
	actions = resource[v1.Action]{v1.KindAction, "actions", true}
	events  = resource[v1.Event]{v1.KindEvent, "events", true}
)

// meta is an object's metadata.
func meta[T any](o *T) *v1.ObjectMeta { return any(o).(v1.Object).GetMetadata() }

// typed is a copy of an object that says what it is: programs need not.
func typed[T any](kind string, o *T) *T {
	c := *o
	*any(&c).(v1.Object).GetTypeMeta() = v1.TypeMeta{APIVersion: v1.APIVersion, Kind: kind}
	return &c
}

// ListOptions narrow a list.
type ListOptions struct {
	// Name of the only object wanted; empty means all.
	Name string
	// LabelSelector: key=value, key!=value, key, !key, with commas between; empty means all.
	LabelSelector string
}

func (o ListOptions) query() url.Values {
	q := url.Values{}
	if o.Name != "" {
		q.Set("name", o.Name)
	}
	if o.LabelSelector != "" {
		q.Set("labelSelector", o.LabelSelector)
	}
	return q
}

// DeleteOptions say how to delete.
type DeleteOptions struct {
	// Force: a VM is switched off without being asked to shut down.
	Force bool
	// UID of the object meant: one of the same name that came later is left alone. Empty means whichever there is.
	UID string
}

func (o DeleteOptions) query() url.Values {
	q := url.Values{}
	if o.Force {
		q.Set("force", "true")
	}
	if o.UID != "" {
		q.Set("uid", o.UID)
	}
	return q
}

// in is the collection's URL in a namespace; empty means in all.
func (r resource[T]) in(namespace string) string {
	if !r.namespaced || namespace == "" {
		return root + "/" + r.collection
	}
	return root + "/namespaces/" + url.PathEscape(namespace) + "/" + r.collection
}

// at is one object's URL; an empty namespace means the default one.
func (r resource[T]) at(namespace, name string) string {
	return r.in(orDefault(namespace)) + "/" + url.PathEscape(name)
}

func (r resource[T]) create(ctx context.Context, c *Client, o *T) (*T, error) {
	return call[T](ctx, c, http.MethodPost, r.in(orDefault(meta(o).Namespace)), nil, typed(r.kind, o))
}

func (r resource[T]) update(ctx context.Context, c *Client, o *T) (*T, error) {
	return call[T](ctx, c, http.MethodPut, r.at(meta(o).Namespace, meta(o).Name), nil, typed(r.kind, o))
}

func (r resource[T]) get(ctx context.Context, c *Client, namespace, name string) (*T, error) {
	return call[T](ctx, c, http.MethodGet, r.at(namespace, name), nil, nil)
}

func (r resource[T]) list(ctx context.Context, c *Client, namespace string, query url.Values) (*v1.List[T], error) {
	return call[v1.List[T]](ctx, c, http.MethodGet, r.in(namespace), query, nil)
}

func (r resource[T]) delete(ctx context.Context, c *Client, namespace, name string, o DeleteOptions) (*T, error) {
	return call[T](ctx, c, http.MethodDelete, r.at(namespace, name), o.query(), nil)
}

func orDefault(namespace string) string {
	if namespace == "" {
		return v1.DefaultNamespace
	}
	return namespace
}
