package apiserver

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

type applyInput struct {
	DryRun    bool   `query:"dryRun" doc:"Check everything, change nothing."`
	File      string `query:"file" doc:"The name of the manifest, for error messages."`
	Namespace string `query:"namespace" doc:"The namespace of objects that name none; empty means default."`
	RawBody   []byte `contentType:"application/yaml"`
}

func (s *Server) applyRoute(api huma.API) {
	register(api, huma.Operation{Method: http.MethodPost, Path: root + "/apply", OperationID: "apply",
		Summary:      "Create and update what manifests say",
		Description:  "The body is YAML or JSON with any number of documents. All of them are applied, in one transaction, or none.",
		Tags:         []string{"Manifests"},
		Errors:       writeErrors,
		MaxBodyBytes: maxManifestBytes,
	}, typeOf[string](), func(ctx context.Context, in *applyInput) (*output[v1.ApplyResponse], error) {
		docs, err := v1.Decoder{File: in.File, Namespace: in.Namespace}.Decode(in.RawBody)
		if err != nil {
			return nil, manifestProblem(err, orBody(in.File)+" is not valid: nothing was applied")
		}
		if len(docs) == 0 {
			return nil, newProblem(http.StatusUnprocessableEntity, orBody(in.File)+" has no documents: nothing was applied")
		}
		applied, err := s.registry.Apply(ctx, docs, registry.ApplyOptions{DryRun: in.DryRun})
		if err != nil {
			return nil, s.applyProblem(err, docs, in.File)
		}
		out := v1.ApplyResponse{DryRun: in.DryRun, Items: make([]v1.ApplyResult, len(applied))}
		for i, a := range applied {
			out.Items[i] = v1.ApplyResult(a)
		}
		return &output[v1.ApplyResponse]{out}, nil
	})
}

func orBody(file string) string {
	if file == "" {
		return "the body"
	}
	return file
}

// applyProblem says what was in the way of one or more documents, and where they are.
func (s *Server) applyProblem(err error, docs []v1.Document, file string) error {
	leaves := split(err)
	p := newProblem(http.StatusConflict, orBody(file)+" contradicts what is there: nothing was applied")
	for _, e := range leaves {
		ref := refOf(e)
		if ref == nil {
			return s.problemOf(err)
		}
		if errors.As(e, new(*registry.InvalidError)) {
			p = newProblem(http.StatusUnprocessableEntity, orBody(file)+" is not valid: nothing was applied", p.Errors...)
		}
		for _, pe := range problemErrors(e) {
			if !strings.HasPrefix(pe.Message, ref.String()) {
				pe.Message = ref.String() + ": " + pe.Message
			}
			for _, d := range docs {
				if have := v1.RefTo(d.Object); have.Kind == ref.Kind && have.Namespace == ref.Namespace && have.Name == ref.Name {
					pe.File = d.File
					pe.Line, pe.Column = d.Position(pe.Location)
				}
			}
			p.Errors = append(p.Errors, pe)
		}
	}
	return p
}

// split takes errors.Join apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, split(e)...)
		}
		return out
	}
	return []error{err}
}

// refOf is the object that one of the registry's errors is about, nil when it is about none.
func refOf(err error) *v1.ObjectRef {
	var (
		invalid    *registry.InvalidError
		conflict   *registry.ConflictError
		terminated *registry.TerminatingError
	)
	switch {
	case errors.As(err, &invalid):
		return &invalid.Ref
	case errors.As(err, &conflict):
		return &conflict.Ref
	case errors.As(err, &terminated):
		return &terminated.Ref
	}
	return nil
}
