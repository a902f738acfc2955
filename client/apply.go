package client

import (
	"context"
	"net/http"
	"net/url"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// ApplyOptions say how to apply.
type ApplyOptions struct {
	// Namespace of objects that name none; empty means the default one.
	Namespace string
	// DryRun checks everything and changes nothing.
	DryRun bool
}

// Apply creates and updates what the manifests (YAML or JSON, any number of documents) say. All documents are applied or none.
// file is the name that error messages use; empty means none.
func (c *Client) Apply(ctx context.Context, file string, manifests []byte, o ApplyOptions) ([]v1.ApplyResult, error) {
	q := url.Values{}
	if o.DryRun {
		q.Set("dryRun", "true")
	}
	if o.Namespace != "" {
		q.Set("namespace", o.Namespace)
	}
	if file != "" {
		q.Set("file", file)
	}
	out, err := callRaw[v1.ApplyResponse](ctx, c, http.MethodPost, root+"/apply", q, "application/yaml", manifests)
	if err != nil {
		return nil, err
	}
	return out.Items, nil
}
