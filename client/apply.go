package client

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
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
	q := o.query()
	if file != "" {
		q.Set("file", file)
	}
	return c.apply(ctx, q, "application/yaml", manifests)
}

// ApplyFiles is Apply for several files: all documents of all files are applied, or none.
func (c *Client) ApplyFiles(ctx context.Context, files []v1.ManifestFile, o ApplyOptions) ([]v1.ApplyResult, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range files {
		part, err := form.CreateFormFile("file", f.Name)
		if err == nil {
			_, err = part.Write(f.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("write %s into a request: %w", f.Name, err)
		}
	}
	if err := form.Close(); err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return c.apply(ctx, o.query(), form.FormDataContentType(), body.Bytes())
}

func (o ApplyOptions) query() url.Values {
	q := url.Values{}
	if o.DryRun {
		q.Set("dryRun", "true")
	}
	if o.Namespace != "" {
		q.Set("namespace", o.Namespace)
	}
	return q
}

func (c *Client) apply(ctx context.Context, q url.Values, contentType string, body []byte) ([]v1.ApplyResult, error) {
	out, err := callRaw[v1.ApplyResponse](ctx, c, http.MethodPost, root+"/apply", q, contentType, body)
	if err != nil {
		return nil, err
	}
	return out.Items, nil
}
