package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

const goodVM = "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: good}\nspec: {runStrategy: Manual, template: {memory: 512Mi}}\n"
const badVM = "apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: bad}\nspec: {template: {memori: 512Mi}}\n"

// Each kind of failure has its code, says what is wrong on stderr, and writes nothing else.
func TestExitCodes(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"good.yaml": goodVM, "bad.yaml": badVM} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.host("host1", v1.HostStatus{})
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"gett vms", ExitUsage, `"gett" is no command of "holdfast"; did you mean "get"?`},
		{"list vms", ExitUsage, `did you mean "get" or "host"?`},
		{"destroy web", ExitUsage, `did you mean "stop"?`},
		{"create -f x.yaml", ExitUsage, `"create" is no command of "holdfast"; did you mean "apply"?`},
		{"uncordon host1", ExitUsage, `did you mean "host"?`},
		{"nonsense", ExitUsage, `"holdfast --help" lists them`},
		{"host ad", ExitUsage, `"ad" is no command of "holdfast host"; did you mean "add"?`},
		{"get", ExitUsage, "the kind of object is missing; usage: holdfast get KIND [NAME...]"},
		{"get pods", ExitUsage, `"pods" is no kind of object; there are vm, host, event, action, clusterconfig`},
		{"get vms --colour", ExitUsage, `unknown flag: --colour; "holdfast get --help" lists the flags`},
		{"get vms -o xml", ExitUsage, "there are table, wide, json, yaml, name"},
		{"get vm web -A", ExitUsage, "names need one namespace"},
		{"get vm web -l app=web", ExitUsage, "not both"},
		{"get vm/web host/host1", ExitUsage, `"host/host1" is not a vm`},
		{"get actions --watch", ExitUsage, "actions cannot be watched"},
		{"get event x", ExitUsage, "holdfast events VM"},
		{"get clusterconfig other", ExitNotFound, `the only one is named "cluster"`},
		{"get vms -l a=b=c", ExitError, "label selector"},
		{"get vm web", ExitNotFound, "web"},
		{"describe", ExitUsage, "the kind of object is missing"},
		{"describe vm", ExitUsage, "the name of a vm is missing"},
		{"describe vm web", ExitNotFound, "web"},
		{"describe action x", ExitUsage, "holdfast get action -o yaml"},
		{"describe host host9", ExitNotFound, "host9"},
		{"start", ExitUsage, "the name of a virtual machine is missing"},
		{"start web", ExitNotFound, "web"},
		{"start a b --request-id x", ExitUsage, "one virtual machine"},
		{"start web --force", ExitUsage, "unknown flag: --force"},
		{"stop host/host1", ExitUsage, `"host/host1" is not a vm`},
		{"delete", ExitUsage, "holdfast delete vm NAME"},
		{"delete vm", ExitUsage, "the name of a vm is missing"},
		{"delete vm web", ExitNotFound, "web"},
		{"delete action x", ExitUsage, "only virtual machines and hosts can"},
		{"delete vm web -f x.yaml", ExitUsage, "not both"},
		{"apply", ExitUsage, "say which manifest with -f FILE"},
		{"apply web.yaml", ExitUsage, `"web.yaml" is too much`},
		{"apply -f " + dir + "/none.yaml", ExitError, "none.yaml: no such file or directory"},
		{"apply -f " + dir + "/bad.yaml", ExitError, "bad.yaml:4"},
		{"apply -f " + dir, ExitError, "memori"},
		{"apply -f " + t.TempDir(), ExitError, "holds no manifest"},
		{"apply -f -", ExitError, "standard input is empty"},
		{"host add host1 qemu+tcp://host1/system", ExitRefused, "host1"},
		{"host add host2", ExitUsage, "the host's NAME or URI is missing"},
		{"host add host2 qemu:///system --reserved-memory much", ExitUsage, "--reserved-memory"},
		{"host add UPPER qemu:///system", ExitUsage, "metadata.name"},
		{"host add host2 gopher://host2", ExitUsage, "spec.uri"},
		{"host cordon host9", ExitNotFound, "host9"},
		{"lab status --dir " + dir, ExitNotFound, "holdfast lab up"},
		{"completion tcsh", ExitUsage, "there are bash, zsh, fish"},
		{"server --log-format xml", ExitUsage, "there are text and json"},
		{"get vms --socket " + dir + "/none.sock", ExitUnreachable, "holdfast server"},
		{"version --socket " + dir + "/none.sock", ExitUnreachable, "not running"},
	} {
		r := w.run(strings.Fields(c.line)...)
		if r.code != c.code || !strings.HasPrefix(r.err, "Error: ") || !strings.Contains(r.err, c.says) {
			t.Errorf("holdfast %s\n got %d %q\nwant %d …%s…", c.line, r.code, r.err, c.code, c.says)
		}
		if strings.Contains(r.out+r.err, "Usage:") {
			t.Errorf("holdfast %s dumps its usage", c.line)
		}
	}
	if list := w.ok("get", "vms", "-o", "name"); list != "" {
		t.Errorf("the good file beside a bad one was applied: %s", list)
	}
}

func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := w.runWith(ctx, "", "get", "vms"); r.code != ExitInterrupted || r.err != "Error: interrupted; what has been asked for goes on\n" {
		t.Errorf("got %+v", r)
	}
}

// The first error decides, and each is reported.
func TestSeveralErrors(t *testing.T) {
	err := errors.Join(refused("one"), errors.Join(notFound("two"), errors.New("three")))
	var b strings.Builder
	report(&b, err)
	if want := "Error: one\nError: two\nError: three\n"; exitCode(err) != ExitRefused || b.String() != want {
		t.Errorf("got %d %q", exitCode(err), b.String())
	}
}

// Files that are good each by itself and contradict each other change nothing: neither given one by one nor as a directory.
func TestApplySeveralFiles(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	for _, name := range []string{"x1", "x2"} {
		manifest := strings.NewReplacer("name: good", "name: "+name, "512Mi", "512Mi, disks: [{name: root, path: /images/x.raw}]").Replace(goodVM)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"apply -f " + dir, "apply -f " + dir + "/x1.yaml -f " + dir + "/x2.yaml"} {
		r := w.run(strings.Fields(line)...)
		if r.code != ExitRefused || r.out != "" || !strings.Contains(r.err, "nothing was applied") || !strings.Contains(r.err, "x2.yaml:") {
			t.Errorf("holdfast %s: %+v", line, r)
		}
		if list := w.ok("get", "vms", "-o", "name"); list != "" {
			t.Errorf("holdfast %s has made %s", line, list)
		}
	}
}

func TestApply(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(path, []byte(goodVM), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ line, out string }{
		{"apply -f " + path + " --dry-run", "vm/good created (dry run)\n"},
		{"get vms -o name", ""},
		{"apply -f " + dir, "vm/good created\n"},
		{"apply -f " + path, "vm/good unchanged\n"},
		{"apply -n prod -f " + path, "vm/good created\n"},
		{"get vms -A -o name", "vm/good\nvm/good\n"},
		{"delete -n prod -f " + path, "vm/good is being deleted\n"},
		{"delete host host1", "host/host1 deleted\n"},
	} {
		if strings.HasPrefix(step.line, "delete host") {
			w.host("host1", v1.HostStatus{})
		}
		if got := w.ok(strings.Fields(step.line)...); got != step.out {
			t.Errorf("%s: got %q, want %q", step.line, got, step.out)
		}
	}
}

func TestCordon(t *testing.T) {
	w := newWorld(t)
	w.host("h1", v1.HostStatus{State: v1.HostUp})
	w.host("h2", v1.HostStatus{State: v1.HostUp})
	if out := w.ok("host", "cordon", "h1", "host/h2"); out != "host/h1 cordoned\nhost/h2 cordoned\n" {
		t.Errorf("got %q", out)
	}
	w.ok("host", "uncordon", "h2")
	for name, want := range map[string]bool{"h1": true, "h2": false} {
		if h, err := w.client.GetHost(t.Context(), name); err != nil || h.Spec.Unschedulable != want {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}
