package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/registry"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/memory"
)

const vmsPath = "/api/v1/namespaces/default/virtualmachines"

func TestProblems(t *testing.T) {
	w := newWorld(t)
	w.createVM("web")
	const header = `"apiVersion": "holdfast/v1", "kind": "VirtualMachine", `
	for _, tc := range []struct {
		name                            string
		method, path, contentType, body string
		status                          int
		// location of the first error; "-" means none is listed.
		location string
		// says is somewhere in the body.
		says string
	}{
		{"no such object", "GET", vmsPath + "/nope", "", "", 404, "-", "VirtualMachine default/nope does not exist"},
		{"no such URL", "GET", "/api/v2/things", "", "", 404, "-", "/openapi.yaml"},
		{"no such method", "PATCH", vmsPath, "", "", 405, "-", "GET"},
		{"unknown field", "POST", vmsPath, "application/json",
			"{" + header + `"metadata": {"name": "x"},` + "\n" + `"spec": {"template": {"memory": "1Gi", "memroy": 1}}}`,
			422, "spec.template.memroy", `did you mean \"memory\"?`},
		{"wrong type", "POST", vmsPath, "application/json", "{" + header + `"metadata": {"name": "x"}, "spec": {"template": {"memory": []}}}`,
			422, "spec.template.memory", ""},
		{"not JSON", "POST", vmsPath, "application/json", "{", 422, "", "line"},
		{"no body", "POST", vmsPath, "application/json", "", 400, "-", "body is required"},
		{"another kind", "POST", vmsPath, "application/json",
			`{"apiVersion": "holdfast/v1", "kind": "Host", "metadata": {"name": "x"}, "spec": {"uri": "qemu:///system"}}`, 422, "kind", "Host"},
		{"another namespace", "POST", vmsPath, "application/json",
			"{" + header + `"metadata": {"name": "x", "namespace": "other"}, "spec": {"template": {"memory": "1Gi"}}}`, 422, "metadata.namespace", "other"},
		{"another name", "PUT", vmsPath + "/web", "application/json",
			"{" + header + `"metadata": {"name": "x"}, "spec": {"template": {"memory": "1Gi"}}}`, 422, "metadata.name", "web"},
		{"several objects", "POST", vmsPath, "application/yaml", "apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: a}\nspec: {uri: 'qemu:///system'}\n---\n" +
			"apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: b}\nspec: {uri: 'qemu:///system'}\n", 422, "-", "/api/v1/apply"},
		{"exists", "POST", vmsPath, "application/json", "{" + header + `"metadata": {"name": "web"}, "spec": {"template": {"memory": "1Gi"}}}`,
			409, "metadata.name", "exists already"},
		{"too large", "POST", vmsPath, "application/json", strings.Repeat(" ", 1<<20+1), 413, "-", ""},
		{"unknown parameter", "GET", vmsPath + "?lableSelector=a", "", "", 422, "query.lableSelector", "unknown query parameter"},
		{"wrong parameter", "GET", vmsPath + "?watch=perhaps", "", "", 422, "query.watch", "boolean"},
		{"bad selector", "GET", vmsPath + "?labelSelector=a=b=c", "", "", 422, "query.labelSelector", "key=value"},
		{"bad version", "GET", vmsPath + "?watch=true&resourceVersion=x", "", "", 422, "resourceVersion", "not a resourceVersion"},
		{"version from the future", "GET", vmsPath + "?watch=true&resourceVersion=999999", "", "", 410, "-", "list again"},
		{"unknown field of an action", "POST", vmsPath + "/web/actions", "application/json", `{"type": "start", "forced": true}`,
			422, "body.forced", "unexpected property"},
		{"an action that does not say what it is", "POST", vmsPath + "/web/actions", "application/x-www-form-urlencoded", `{"type": "start"}`,
			415, "body", "send the header Content-Type: application/json"},
		{"no action", "POST", vmsPath + "/web/actions", "application/json", `{"type": "fly"}`, 422, "spec.type", "use start, stop or restart"},
		{"no document", "POST", "/api/v1/apply?file=x.yaml", "application/yaml", "# nothing\n", 422, "-", "x.yaml"},
		{"no document in one of several", "POST", "/api/v1/apply", "multipart/form-data; boundary=b",
			form("file", "x.yaml", "# nothing\n") + form("file", "y.yaml", "apiVersion: holdfast/v1\nkind: ClusterConfig\n") + "--b--\r\n", 422, "-",
			"x.yaml has no documents"},
		{"another part", "POST", "/api/v1/apply", "multipart/form-data; boundary=b", form("dryRun", "", "true") + "--b--\r\n", 422, "-",
			"name each manifest's part file"},
		{"no parts", "POST", "/api/v1/apply", "multipart/form-data; boundary=b", "--b--\r\n", 422, "-", "with a manifest in each part"},
		{"half a form", "POST", "/api/v1/apply", "multipart/form-data; boundary=b", form("file", "x.yaml", "a"), 422, "-", "with a manifest in each part"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := w.raw(tc.method, tc.path, tc.contentType, tc.body)
			if resp.StatusCode != tc.status || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("got %d %s: %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			var p v1.Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if p.Type != "about:blank" || p.Status != tc.status || p.Title != http.StatusText(tc.status) || p.Detail == "" {
				t.Errorf("incomplete: %+v", p)
			}
			location := "-"
			if len(p.Errors) > 0 {
				location = p.Errors[0].Location
			}
			if location != tc.location || !strings.Contains(body, tc.says) {
				t.Errorf("want location %q and %q in %s", tc.location, tc.says, body)
			}
		})
	}
}

// form is one part of a multipart body.
func form(name, file, text string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" + file + "\"\r\n\r\n" + text + "\r\n"
}

// Several files are applied together or not at all, whether it is a document that is bad, two of them that contradict each other, or one
// that contradicts what is there.
func TestApplyFiles(t *testing.T) {
	w := newWorld(t)
	vm := func(name, template string) string {
		return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: " + name + "}\nspec:\n  runStrategy: Manual\n  template:\n    memory: 1Gi\n" + template
	}
	disk := "    disks:\n    - {name: root, path: /images/db.qcow2}\n"
	file := func(name, text string) v1.ManifestFile { return v1.ManifestFile{Name: name, Data: []byte(text)} }
	good := file("dir/gut und schön.yaml", vm("good", disk))
	for _, tc := range []struct {
		name  string
		other v1.ManifestFile
		is    func(error) bool
		says  string
	}{
		{"a bad document", file("dir/b.yaml", vm("b", "    memroy: 1Gi\n")), client.IsInvalid,
			"one of the 2 manifests is not valid: nothing was applied\n  dir/b.yaml:8:5: spec.template.memroy: "},
		{"the same object", file("dir/b.yaml", vm("c", "")+"---\n"+vm("good", "")), client.IsInvalid,
			"dir/b.yaml:11:18: metadata.name: VirtualMachine default/good is already in dir/gut und schön.yaml, at line 1"},
		{"the same disk", file("dir/b.yaml", vm("b", disk)), client.IsConflict,
			"one of the 2 manifests contradicts what is there: nothing was applied\n  dir/b.yaml:9:7: spec.template.disks[0]: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, dryRun := range []bool{true, false} {
				_, err := w.client.ApplyFiles(t.Context(), []v1.ManifestFile{good, tc.other}, client.ApplyOptions{DryRun: dryRun})
				if !tc.is(err) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("dry run %v: no %q in:\n%v", dryRun, tc.says, err)
				}
			}
			if _, err := w.client.GetVM(t.Context(), "", "good"); !client.IsNotFound(err) {
				t.Errorf("the good file was applied although another is bad: %v", err)
			}
		})
	}
	results, err := w.client.ApplyFiles(t.Context(), []v1.ManifestFile{good, file("b", vm("b", ""))}, client.ApplyOptions{Namespace: "prod"})
	if err != nil || len(results) != 2 || results[0].Name != "good" || results[1].Name != "b" || results[1].Namespace != "prod" {
		t.Errorf("got %+v, %v", results, err)
	}
}

// What a bad manifest gets told on the terminal.
func TestApplyProblems(t *testing.T) {
	w := newWorld(t)
	vm := func(name, template string) string {
		return "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata:\n  name: " + name + "\nspec:\n  runStrategy: Manual\n  template:\n    memory: 1Gi\n" +
			template + "---\n"
	}
	disk := "    disks:\n    - name: root\n      path: /images/db.qcow2\n"
	if _, err := w.client.Apply(t.Context(), "db.yaml", []byte(vm("db", disk)), client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, manifests string
		is              func(error) bool
		says            []string
	}{
		{"unknown fields", vm("a", "    memroy: 1Gi\n") + vm("b", "    cpus: 4\n"), client.IsInvalid,
			[]string{"web.yaml is not valid: nothing was applied", "web.yaml:9:5: spec.template.memroy: ", "web.yaml:19:5: spec.template.cpus: "}},
		{"another VM's disk", vm("a", "") + vm("b", disk), client.IsConflict,
			[]string{"nothing was applied", "web.yaml:19:7: spec.template.disks[0]", "VirtualMachine default/db"}},
		{"an old version", strings.Replace(vm("db", disk), "name: db", "name: db\n  resourceVersion: '1'", 1), client.IsConflict,
			[]string{"web.yaml:5:20: metadata.resourceVersion: ", "read it again"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, dryRun := range []bool{true, false} {
				_, err := w.client.Apply(t.Context(), "web.yaml", []byte(tc.manifests), client.ApplyOptions{DryRun: dryRun})
				if !tc.is(err) {
					t.Fatalf("dry run %v: %v", dryRun, err)
				}
				for _, says := range tc.says {
					if !strings.Contains(err.Error(), says) {
						t.Errorf("dry run %v: no %q in:\n%v", dryRun, says, err)
					}
				}
			}
			if _, err := w.client.GetVM(t.Context(), "", "a"); !client.IsNotFound(err) {
				t.Errorf("the good document was applied although another is bad: %v", err)
			}
		})
	}
}

func TestApplyTooMuch(t *testing.T) {
	w := newWorld(t)
	var manifest strings.Builder
	for i := range 2100 {
		fmt.Fprintf(&manifest, "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: vm%d}\nspec: {template: {memory: 1Gi}}\n---\n", i)
	}
	_, err := w.client.Apply(t.Context(), "", []byte(manifest.String()), client.ApplyOptions{})
	if !client.IsInvalid(err) || !strings.Contains(err.Error(), "split it") {
		t.Errorf("got %v", err)
	}
}

func TestStoreTrouble(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  memory.Fault
		status int
		says   string
	}{
		{"no space", memory.Fault{Drop: true, Err: store.ErrNoSpace}, 503, "out of space"},
		{"no leader", memory.Fault{Err: fmt.Errorf("%w: no leader", store.ErrUnavailable)}, 503, "no leader. Ask again"},
		{"closed", memory.Fault{Drop: true, Err: store.ErrClosed}, 503, "closed"},
		{"always overtaken", memory.Fault{Drop: true, Err: store.ErrConflict}, 503, "try again"},
		{"something else", memory.Fault{Drop: true, Err: errors.New("gremlins")}, 500, "gremlins"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.stop()
			view := w.store.View(memory.Faults{Txn: func(store.Txn) memory.Fault { return tc.fault }})
			w.start(registry.New(view, time.Now), 0)
			_, err := w.client.CreateVM(t.Context(), newVM("web"))
			var p *client.Problem
			if !errors.As(err, &p) || p.Status != tc.status || !strings.Contains(p.Detail, tc.says) {
				t.Errorf("got %#v", err)
			}
			if client.IsUnavailable(err) != (tc.status == 503) {
				t.Errorf("unavailable: %v", client.IsUnavailable(err))
			}
		})
	}
}
