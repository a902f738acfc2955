package v1

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// with is a manifest of a kind with one more field in its spec, whose path begins with "spec.".
func with(kind, path, value string) string {
	name, needs := "a", "template.memory: 64Mi"
	switch kind {
	case KindHost:
		needs = "uri: qemu:///system"
	case KindClusterConfig:
		name, needs = ClusterConfigName, "baselineCPUModel: qemu64"
	}
	spec := map[string]any{}
	for _, field := range []string{needs, strings.TrimPrefix(path, "spec.") + ": " + value} {
		path, value, _ := strings.Cut(field, ": ")
		words, at := strings.Split(path, "."), spec
		for _, w := range words[:len(words)-1] {
			if at[w] == nil {
				at[w] = map[string]any{}
			}
			at = at[w].(map[string]any)
		}
		at[words[len(words)-1]] = &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": APIVersion, "kind": kind, "metadata": map[string]string{"name": name}, "spec": spec})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Every number and duration whose zero is taken for a default refuses a zero that somebody wrote. A new field has to be in one of
// the two lists.
func TestExplicitZeros(t *testing.T) {
	zeroIsZero := map[string]bool{"Host spec.reserved.memory": true, "Host spec.reserved.cpus": true}
	looked := 0
	var walk func(kind string, t reflect.Type, path string)
	check := func(kind, path string, typ reflect.Type) {
		looked++
		zeros := []string{"0"}
		if typ == reflect.TypeFor[Duration]() {
			zeros = []string{"0s", "0ms"}
		}
		for _, zero := range zeros {
			text := with(kind, path, zero)
			_, err := DecodeManifests("f", []byte(text))
			switch remedy := ownDefault[kind][path]; {
			case zeroIsZero[kind+" "+path]:
				if err != nil {
					t.Errorf("%s\nis refused: %v", text, err)
				}
			case remedy == "":
				t.Errorf("%s %s: say what a zero that somebody wrote means", kind, path)
			case err == nil || !strings.HasSuffix(err.Error(), path+": zero is not possible here: it would mean the default: "+remedy):
				t.Errorf("%s\n%v", text, err)
			}
		}
	}
	walk = func(kind string, typ reflect.Type, path string) {
		for _, f := range reflect.VisibleFields(typ) {
			at := join(path, fieldName(f))
			switch f.Type.Kind() {
			case reflect.Struct:
				if f.Type != reflect.TypeFor[time.Time]() {
					walk(kind, f.Type, at)
				}
			case reflect.Int, reflect.Int64, reflect.Float64:
				if strings.Contains(f.Tag.Get("json"), ",omit") {
					check(kind, at, f.Type)
				}
			}
		}
	}
	walk(KindVirtualMachine, reflect.TypeFor[VirtualMachineSpec](), "spec")
	walk(KindHost, reflect.TypeFor[HostSpec](), "spec")
	walk(KindClusterConfig, reflect.TypeFor[ClusterConfigSpec](), "spec")
	known := len(zeroIsZero)
	for _, remedies := range ownDefault {
		known += len(remedies)
	}
	if looked != known {
		t.Errorf("%d fields are listed, and there are %d", known, looked)
	}
}
