package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/internal/registry"
)

type applyInput struct {
	DryRun      bool   `query:"dryRun" doc:"Check everything, change nothing."`
	File        string `query:"file" doc:"The name of the manifest, for error messages. In multipart/form-data each file has its own."`
	Namespace   string `query:"namespace" doc:"The namespace of objects that name none; empty means default."`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/yaml"`
}

// applyForm is several files in one body, as browsers and curl send them.
type applyForm struct {
	File []string `json:"file" doc:"Manifests, in the order in which they are read. Their file names are for error messages."`
}

func (s *Server) applyRoute(api huma.API) {
	register(api, huma.Operation{Method: http.MethodPost, Path: root + "/apply", OperationID: "apply",
		Summary: "Create and update what manifests say",
		Description: "The body is YAML or JSON with any number of documents, or several such files as multipart/form-data. All documents of " +
			"all files are applied, in one transaction, or none.",
		Tags:         []string{"Manifests"},
		Errors:       writeErrors,
		MaxBodyBytes: maxManifestBytes,
	}, typeOf[string](), func(ctx context.Context, in *applyInput) (*output[v1.ApplyResponse], error) {
		files, err := in.files()
		if err != nil {
			return nil, err
		}
		name := "the body"
		switch {
		case len(files) > 1:
			name = fmt.Sprintf("one of the %d manifests", len(files))
		case files[0].Name != "":
			name = files[0].Name
		}
		docs, err := v1.Decoder{Namespace: in.Namespace}.DecodeFiles(files...)
		if err != nil {
			return nil, manifestProblem(err, name+" is not valid: nothing was applied")
		}
		if empty := withoutDocuments(files, docs); len(empty) > 0 {
			return nil, newProblem(http.StatusUnprocessableEntity, cmp.Or(strings.Join(empty, ", "), name)+" has no documents: nothing was applied")
		}
		applied, err := s.registry.Apply(ctx, docs, registry.ApplyOptions{DryRun: in.DryRun})
		if err != nil {
			return nil, s.applyProblem(err, docs, name)
		}
		out := v1.ApplyResponse{DryRun: in.DryRun, Items: make([]v1.ApplyResult, len(applied))}
		for i, a := range applied {
			out.Items[i] = v1.ApplyResult(a)
		}
		return &output[v1.ApplyResponse]{out}, nil
	})
	form := api.OpenAPI().Components.Schemas.Schema(typeOf[applyForm](), true, "")
	operation(api, http.MethodPost, root+"/apply").RequestBody.Content["multipart/form-data"] = &huma.MediaType{Schema: form}
}

// files are the manifests in the body; there is at least one.
func (in *applyInput) files() ([]v1.ManifestFile, error) {
	kind, parameters, err := mime.ParseMediaType(in.ContentType)
	if err != nil || kind != "multipart/form-data" {
		return []v1.ManifestFile{{Name: in.File, Data: in.RawBody}}, nil
	}
	var files []v1.ManifestFile
	for parts := multipart.NewReader(bytes.NewReader(in.RawBody), parameters["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF && len(files) > 0 {
			return files, nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, newProblem(http.StatusUnprocessableEntity, "the body is not multipart/form-data with a manifest in each part: "+err.Error())
		}
		// The name as it was sent: FileName would leave out the directory.
		_, disposition, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || disposition["name"] != "file" {
			return nil, newProblem(http.StatusUnprocessableEntity,
				fmt.Sprintf("part %q of the body is unknown: name each manifest's part file, and say everything else in the URL", disposition["name"]))
		}
		files = append(files, v1.ManifestFile{Name: disposition["filename"], Data: data})
	}
}

// withoutDocuments are the names of the files that have nothing in them.
func withoutDocuments(files []v1.ManifestFile, docs []v1.Document) []string {
	var names []string
	for _, f := range files {
		if !slices.ContainsFunc(docs, func(d v1.Document) bool { return d.File == f.Name }) {
			names = append(names, f.Name)
		}
	}
	return names
}

// applyProblem says what was in the way of one or more documents, and where they are.
func (s *Server) applyProblem(err error, docs []v1.Document, name string) error {
	leaves := split(err)
	p := newProblem(http.StatusConflict, name+" contradicts what is there: nothing was applied")
	for _, e := range leaves {
		ref := refOf(e)
		if ref == nil {
			return s.problemOf(err)
		}
		if errors.As(e, new(*registry.InvalidError)) {
			p = newProblem(http.StatusUnprocessableEntity, name+" is not valid: nothing was applied", p.Errors...)
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
