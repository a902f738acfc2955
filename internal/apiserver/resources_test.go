package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"os/user"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
	"github.com/holdfast-vm/holdfast/client"
	"github.com/holdfast-vm/holdfast/internal/apiserver"
	"github.com/holdfast-vm/holdfast/internal/store"
	"github.com/holdfast-vm/holdfast/internal/store/layout"
)

func TestVMs(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	made := w.createVM("web")
	if made.Metadata.UID == "" || made.Metadata.Namespace != "default" || made.Metadata.ResourceVersion == "" || made.Kind != v1.KindVirtualMachine {
		t.Fatalf("created: %+v", made.Metadata)
	}
	if _, err := w.client.CreateVM(ctx, newVM("web")); !client.IsConflict(err) {
		t.Errorf("created twice: %v", err)
	}
	got := must(w.client.GetVM(ctx, "", "web"))(t)
	if got.Metadata.UID != made.Metadata.UID {
		t.Errorf("read another VM: %+v", got.Metadata)
	}
	if _, err := w.client.GetVM(ctx, "default", "nope"); !client.IsNotFound(err) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("read one that does not exist: %v", err)
	}

	changed := *got
	changed.Spec.Template.Memory = 2 << 30
	updated := must(w.client.UpdateVM(ctx, &changed))(t)
	if updated.Metadata.Generation != 2 || updated.Spec.Template.Memory != 2<<30 {
		t.Errorf("updated: %+v", updated)
	}
	if _, err := w.client.UpdateVM(ctx, &changed); !client.IsConflict(err) {
		t.Errorf("updated from an old version: %v", err)
	}
	changed.Metadata.ResourceVersion = ""
	changed.Spec.Template.Memory = 3 << 30
	must(w.client.UpdateVM(ctx, &changed))(t)

	if _, err := w.client.DeleteVM(ctx, "", "web", client.DeleteOptions{UID: "another"}); !client.IsConflict(err) {
		t.Errorf("deleted with another uid: %v", err)
	}
	deleted := must(w.client.DeleteVM(ctx, "", "web", client.DeleteOptions{Force: true, UID: made.Metadata.UID}))(t)
	if deleted.Metadata.DeletionTimestamp == nil || !deleted.Metadata.DeletionForce {
		t.Errorf("deleted: %+v", deleted.Metadata)
	}
	if _, err := w.client.UpdateVM(ctx, &changed); !client.IsConflict(err) {
		t.Errorf("updated while it is being deleted: %v", err)
	}
}

func TestListsSelect(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if list := must(w.client.ListVMs(ctx, "", client.ListOptions{}))(t); list.Items == nil || len(list.Items) != 0 || list.Kind != "VirtualMachineList" {
		t.Errorf("empty list: %+v", list)
	}
	w.createVM("a")
	w.createVM("b")
	elsewhere := newVM("c")
	elsewhere.Metadata.Namespace = "other"
	must(w.client.CreateVM(ctx, elsewhere))(t)
	for _, tc := range []struct {
		namespace string
		options   client.ListOptions
		want      string
	}{
		{"", client.ListOptions{}, "a b c"},
		{"default", client.ListOptions{}, "a b"},
		{"other", client.ListOptions{}, "c"},
		{"", client.ListOptions{Name: "b"}, "b"},
		{"", client.ListOptions{LabelSelector: "app=a"}, "a"},
		{"", client.ListOptions{LabelSelector: "app!=a"}, "b c"},
		{"", client.ListOptions{LabelSelector: "app,app != b"}, "a c"},
		{"", client.ListOptions{LabelSelector: "!app"}, ""},
	} {
		list := must(w.client.ListVMs(ctx, tc.namespace, tc.options))(t)
		var names []string
		for _, vm := range list.Items {
			names = append(names, vm.Metadata.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%q %+v: got %q, want %q", tc.namespace, tc.options, got, tc.want)
		}
	}
	if _, err := w.client.ListVMs(ctx, "", client.ListOptions{LabelSelector: "a=b=c"}); !client.IsInvalid(err) {
		t.Errorf("a bad selector: %v", err)
	}
}

func TestHosts(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	host := &v1.Host{Metadata: v1.ObjectMeta{Name: "host1"}, Spec: v1.HostSpec{URI: "qemu:///system"}}
	made := must(w.client.CreateHost(ctx, host))(t)
	if _, err := w.client.CreateHost(ctx, host); !client.IsConflict(err) {
		t.Errorf("created twice: %v", err)
	}
	if cordoned := must(w.client.CordonHost(ctx, "host1"))(t); !cordoned.Spec.Unschedulable {
		t.Error("not cordoned")
	}
	must(w.client.CordonHost(ctx, "host1"))(t)
	if open := must(w.client.UncordonHost(ctx, "host1"))(t); open.Spec.Unschedulable {
		t.Error("still cordoned")
	}
	made.Spec.StartLimit = 7
	if _, err := w.client.UpdateHost(ctx, made); !client.IsConflict(err) {
		t.Errorf("updated from an old version: %v", err)
	}
	made.Metadata.ResourceVersion = ""
	must(w.client.UpdateHost(ctx, made))(t)
	if got := must(w.client.GetHost(ctx, "host1"))(t); got.Spec.StartLimit != 7 {
		t.Errorf("read: %+v", got.Spec)
	}
	if list := must(w.client.ListHosts(ctx, client.ListOptions{}))(t); len(list.Items) != 1 {
		t.Errorf("list: %+v", list)
	}
	if last := must(w.client.DeleteHost(ctx, "host1"))(t); last.Spec.StartLimit != 7 {
		t.Errorf("deleted: %+v", last)
	}
	if _, err := w.client.GetHost(ctx, "host1"); !client.IsNotFound(err) {
		t.Errorf("read after deletion: %v", err)
	}
	if _, err := w.client.CordonHost(ctx, "host1"); !client.IsNotFound(err) {
		t.Errorf("cordoned after deletion: %v", err)
	}
}

// Whose word it is that a host is down, the kernel says.
func TestConfirmHostDown(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	host := must(w.client.CreateHost(ctx, &v1.Host{Metadata: v1.ObjectMeta{Name: "host1"}, Spec: v1.HostSpec{URI: "qemu:///system"}}))(t)
	if _, err := w.client.ConfirmHostDown(ctx, "host1"); !client.IsConflict(err) {
		t.Errorf("a host that is not unreachable: %v", err)
	}
	if _, err := w.client.ConfirmHostDown(ctx, "host2"); !client.IsNotFound(err) {
		t.Errorf("a host that is not there: %v", err)
	}
	status := layout.Encode(layout.StatusOf[v1.HostStatus]{UID: host.Metadata.UID, Status: v1.HostStatus{State: v1.HostUnreachable}})
	if _, err := w.store.Txn(ctx, store.Txn{Put: []store.KV{{Key: layout.HostStatusKey("host1"), Value: status}}}); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if word := must(w.client.ConfirmHostDown(ctx, "host1"))(t).Spec.ConfirmedDown; word == nil || word.By != me.Username || word.At.IsZero() {
		t.Errorf("the word is %+v, want that of %s", word, me.Username)
	}
}

func TestConfig(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	config := must(w.client.GetConfig(ctx))(t)
	config.Spec.StartLimit.Cluster = 5
	updated := must(w.client.UpdateConfig(ctx, config))(t)
	if updated.Spec.StartLimit.Cluster != 5 || updated.Metadata.UID != config.Metadata.UID {
		t.Errorf("updated: %+v", updated)
	}
	if _, err := w.client.UpdateConfig(ctx, config); !client.IsConflict(err) {
		t.Errorf("updated from an old version: %v", err)
	}
}

func TestActions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	vm := w.createVM("web")
	me := must(user.Current())(t)
	request := v1.ActionRequest{Type: v1.ActionStart, RequestID: "start-1"}
	first := must(w.client.PostAction(ctx, "", "web", request))(t)
	if first.Spec.VMUID != vm.Metadata.UID || first.Spec.By != me.Username || first.Metadata.Name != "start-1" {
		t.Errorf("posted: %+v", first)
	}
	if again := must(w.client.PostAction(ctx, "", "web", request))(t); again.Metadata.UID != first.Metadata.UID {
		t.Error("the same request id made a second action")
	}
	request.Type = v1.ActionStop
	if _, err := w.client.PostAction(ctx, "", "web", request); !client.IsConflict(err) {
		t.Errorf("the same request id for something else: %v", err)
	}
	must(w.client.PostAction(ctx, "", "web", v1.ActionRequest{Type: v1.ActionStop, Force: true}))(t)
	if list := must(w.client.ListActions(ctx, ""))(t); len(list.Items) != 2 {
		t.Errorf("%d actions, want 2", len(list.Items))
	}
	if got := must(w.client.GetAction(ctx, "", "start-1"))(t); got.Metadata.UID != first.Metadata.UID {
		t.Errorf("read: %+v", got)
	}
	if _, err := w.client.PostAction(ctx, "", "nope", v1.ActionRequest{Type: v1.ActionStart}); !client.IsNotFound(err) {
		t.Errorf("posted for a VM that does not exist: %v", err)
	}
	if _, err := w.client.PostAction(ctx, "", "web", v1.ActionRequest{Type: "explode"}); !client.IsInvalid(err) {
		t.Errorf("posted an unknown action: %v", err)
	}
}

func TestApply(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	manifests := `apiVersion: holdfast/v1
kind: VirtualMachine
metadata: {name: a}
spec: {runStrategy: Manual, template: {memory: 1Gi}}
---
apiVersion: holdfast/v1
kind: Host
metadata: {name: host1}
spec: {uri: "qemu:///system"}
`
	apply := func(text string, o client.ApplyOptions) string {
		t.Helper()
		results, err := w.client.Apply(ctx, "m.yaml", []byte(text), o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range results {
			out = append(out, r.Kind+" "+r.Namespace+"/"+r.Name+" "+r.Result)
		}
		return strings.Join(out, ", ")
	}
	for _, tc := range []struct {
		options client.ApplyOptions
		want    string
	}{
		{client.ApplyOptions{DryRun: true}, "VirtualMachine default/a created, Host /host1 created"},
		{client.ApplyOptions{}, "VirtualMachine default/a created, Host /host1 created"},
		{client.ApplyOptions{}, "VirtualMachine default/a unchanged, Host /host1 unchanged"},
		{client.ApplyOptions{Namespace: "other"}, "VirtualMachine other/a created, Host /host1 unchanged"},
	} {
		if got := apply(manifests, tc.options); got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.options, got, tc.want)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	if resp, _ := w.raw(http.MethodGet, "/metrics", "", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without metrics: %d", resp.StatusCode)
	}
	metrics := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "answers_total"})
	metrics.MustRegister(counter)
	counter.Add(42)
	answer := httptest.NewRecorder()
	apiserver.New(w.registry, apiserver.Options{Metrics: metrics}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(answer.Body.String(), "answers_total 42") {
		t.Errorf("got %d %s", answer.Code, answer.Body)
	}
}

func TestSystemURLs(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ok"}`, "/version": `{"version":"v1.2.3","leader":"me"}`,
	} {
		if resp, body := w.raw(http.MethodGet, path, "", ""); resp.StatusCode != http.StatusOK || strings.TrimSpace(body) != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if err := w.client.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	w.store.Close()
	if resp, body := w.raw(http.MethodGet, "/readyz", "", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a store: %d %s", resp.StatusCode, body)
	}
	if err := w.client.Ready(t.Context()); !client.IsUnavailable(err) {
		t.Errorf("without a store: %v", err)
	}
}
