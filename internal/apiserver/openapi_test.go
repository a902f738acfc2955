package apiserver_test

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/openapi.yaml anew")

const openAPIFile = "../../docs/openapi.yaml"

func TestOpenAPIFileIsUpToDate(t *testing.T) {
	w := newWorld(t)
	resp, served := w.raw(http.MethodGet, "/openapi.yaml", "", "")
	if resp.Header.Get("Content-Type") != "application/openapi+yaml" {
		t.Errorf("type %s", resp.Header.Get("Content-Type"))
	}
	if *rewrite {
		if err := os.WriteFile(openAPIFile, []byte(served), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(file) != served {
		t.Error("docs/openapi.yaml is not what the server serves: go test ./internal/apiserver -run OpenAPI -rewrite")
	}
}

func TestOpenAPI(t *testing.T) {
	w := newWorld(t)
	_, text := w.raw(http.MethodGet, "/openapi.json", "", "")
	var doc struct {
		OpenAPI    string                               `json:"openapi"`
		Paths      map[string]map[string]map[string]any `json:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
				Required   []string       `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("version %s", doc.OpenAPI)
	}
	var operations []string
	for path, methods := range doc.Paths {
		for method := range methods {
			operations = append(operations, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(operations)
	want := []string{
		"DELETE /api/v1/hosts/{name}",
		"DELETE /api/v1/namespaces/{namespace}/virtualmachines/{name}",
		"GET /api/v1/actions",
		"GET /api/v1/clusterconfig",
		"GET /api/v1/events",
		"GET /api/v1/hosts",
		"GET /api/v1/hosts/{name}",
		"GET /api/v1/namespaces/{namespace}/actions",
		"GET /api/v1/namespaces/{namespace}/actions/{id}",
		"GET /api/v1/namespaces/{namespace}/events",
		"GET /api/v1/namespaces/{namespace}/virtualmachines",
		"GET /api/v1/namespaces/{namespace}/virtualmachines/{name}",
		"GET /api/v1/virtualmachines",
		"GET /healthz",
		"GET /readyz",
		"GET /version",
		"POST /api/v1/apply",
		"POST /api/v1/hosts",
		"POST /api/v1/hosts/{name}/confirm-down",
		"POST /api/v1/hosts/{name}/cordon",
		"POST /api/v1/hosts/{name}/uncordon",
		"POST /api/v1/namespaces/{namespace}/virtualmachines",
		"POST /api/v1/namespaces/{namespace}/virtualmachines/{name}/actions",
		"PUT /api/v1/clusterconfig",
		"PUT /api/v1/hosts/{name}",
		"PUT /api/v1/namespaces/{namespace}/virtualmachines/{name}",
	}
	if !slices.Equal(operations, want) {
		t.Errorf("operations:\n%s", strings.Join(operations, "\n"))
	}
	vm := doc.Components.Schemas["VirtualMachine"]
	if got := slices.Sorted(maps.Keys(vm.Properties)); !slices.Equal(got, []string{"apiVersion", "kind", "metadata", "spec", "status"}) {
		t.Errorf("fields of a VM: %v", got)
	}
	if !slices.Equal(vm.Required, []string{"apiVersion", "kind", "metadata", "spec"}) {
		t.Errorf("a VM needs: %v", vm.Required)
	}
	for _, name := range []string{"VirtualMachineList", "VirtualMachineWatchLine", "Problem"} {
		if len(doc.Components.Schemas[name].Properties) == 0 {
			t.Errorf("no schema %s", name)
		}
	}
	for ref := range strings.SplitSeq(text, `"$ref": "#/components/schemas/`) {
		name, _, _ := strings.Cut(ref, `"`)
		if _, ok := doc.Components.Schemas[name]; !ok && !strings.HasPrefix(ref, "{") {
			t.Errorf("a reference to schema %q, which does not exist", name)
		}
	}
}
