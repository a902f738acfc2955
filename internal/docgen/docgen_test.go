package docgen

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

var update = flag.Bool("update", false, "rewrite the reference")

const root = "../../"

func TestReferenceIsUpToDate(t *testing.T) {
	want, err := Generate(os.DirFS(root + "api/v1"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(root+Output, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(root + Output)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not what the comments in api/v1 say (%v): run go run ./internal/docgen/cmd", Output, err)
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	reference, err := read(os.DirFS(root + "api/v1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ObjectMeta", "VirtualMachineSpec", "Template", "CPU", "Disk", "NIC", "HostSpec", "ClusterConfigSpec", "CrashLoopPolicy"} {
		if len(reference.structs[name].fields) == 0 {
			t.Errorf("%s has no fields", name)
		}
	}
	text, err := Generate(os.DirFS(root + "api/v1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |") || strings.Contains(line, "| ? |") {
			t.Errorf("a field without a description or type: %s", line)
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	for kind, example := range Examples {
		docs, err := v1.DecodeManifests(kind, []byte(example))
		if err != nil {
			t.Errorf("the example of %s:\n%v", kind, err)
		} else if len(docs) != 1 || docs[0].Object.GetTypeMeta().Kind != kind {
			t.Errorf("the example of %s is of another kind", kind)
		}
	}
}

func TestDefaultsAreFound(t *testing.T) {
	reference, err := read(os.DirFS(root + "api/v1"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"Disk", "CPU", "HostSpec", "VirtualMachineSpec"} {
		for _, f := range reference.structs[name].fields {
			got[name+"."+f.name] = f.def
		}
	}
	for field, want := range map[string]string{
		"Disk.format": "qcow2 when the name ends in .qcow2, else raw", "Disk.name": "", "CPU.sockets": "1", "HostSpec.cpuOvercommit": "4",
		"VirtualMachineSpec.runStrategy": "Always", "VirtualMachineSpec.startTimeout": "the cluster's default (5m)",
	} {
		if got[field] != want {
			t.Errorf("default of %s: %q, want %q", field, got[field], want)
		}
	}
}
