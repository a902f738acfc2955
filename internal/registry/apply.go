package registry

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// ApplyOptions of an Apply.
type ApplyOptions struct {
	// DryRun finds out what would happen, and does nothing.
	DryRun bool
}

// Applied says what became of one object.
type Applied struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Result is created, configured or unchanged.
	Result string `json:"result"`
}

// Apply makes all objects as the documents say, in one transaction: all of them, or none. The error joins the problems of all
// documents; each can be found with errors.As.
func (r *Registry) Apply(ctx context.Context, docs []v1.Document, o ApplyOptions) ([]Applied, error) {
	var results []Applied
	err := retry(ctx, func() error {
		p := r.plan()
		wishes, err := p.setAll(ctx, docs, createOrUpdate)
		if err != nil {
			return err
		}
		results = results[:0]
		var problems []error
		for _, w := range wishes {
			if w.err != nil {
				problems = append(problems, at(w.doc, w.err))
				continue
			}
			results = append(results, Applied{Kind: w.ref.Kind, Namespace: w.ref.Namespace, Name: w.ref.Name, Result: w.result})
		}
		if len(problems) > 0 {
			return errors.Join(problems...)
		}
		if o.DryRun {
			return p.fits()
		}
		_, err = p.commit(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// at says which document an error is about.
func at(d v1.Document, err error) error {
	if d.File == "" {
		return err
	}
	return fmt.Errorf("%s:%d: %w", d.File, d.Line, err)
}
