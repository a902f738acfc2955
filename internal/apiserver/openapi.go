package apiserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// newOpenAPI is the OpenAPI document before the operations are added.
func newOpenAPI() *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[problem](), reflect.TypeFor[v1.Problem]())
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Holdfast",
			Description: "Holdfast keeps virtual machines running on a fleet of KVM hosts. Bodies are checked strictly: an unknown " +
				"field is an error. Errors are application/problem+json.",
			Version: "v1",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Components: &huma.Components{Schemas: schemas},
	}
}

// schemaName names generic types as people would: VirtualMachineList, VirtualMachineWatchLine.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for _, generic := range []string{"List", "WatchLine"} {
		if of, ok := strings.CutPrefix(name, generic); ok && strings.HasPrefix(t.Name(), generic+"[") {
			return of + generic
		}
	}
	return name
}

// serveOpenAPI writes the document once all operations are in it, and serves it.
func (s *Server) serveOpenAPI(api huma.API) {
	document := api.OpenAPI()
	inlineTypeMeta(document.Components.Schemas)
	asJSON, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic("apiserver: the OpenAPI document: " + err.Error()) // it is made of our own types only
	}
	asYAML, err := document.YAML()
	if err != nil {
		panic("apiserver: the OpenAPI document: " + err.Error())
	}
	for path, page := range map[string]struct {
		contentType string
		text        []byte
	}{
		"/openapi.json": {"application/openapi+json", asJSON},
		"/openapi.yaml": {"application/openapi+yaml", asYAML},
	} {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", page.contentType)
			_, _ = w.Write(page.text) // who has hung up reads no answer
		})
	}
}

// inlineTypeMeta puts apiVersion and kind where encoding/json puts them. huma takes an embedded struct for a field as soon as it
// has a json tag.
func inlineTypeMeta(schemas huma.Registry) {
	embedded := reflect.TypeFor[v1.TypeMeta]().Name()
	typeMeta := schemas.Map()[embedded]
	for _, schema := range schemas.Map() {
		if _, ok := schema.Properties[embedded]; !ok {
			continue
		}
		delete(schema.Properties, embedded)
		maps.Copy(schema.Properties, typeMeta.Properties)
		schema.Required = append(slices.Clone(typeMeta.Required),
			slices.DeleteFunc(schema.Required, func(field string) bool { return field == embedded })...)
	}
	delete(schemas.Map(), embedded)
}
