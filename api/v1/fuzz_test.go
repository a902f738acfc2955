package v1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzDecodeManifests: nothing makes the decoder panic, and what it accepts can be written as JSON and as YAML, read again, and
// is still the same.
func FuzzDecodeManifests(f *testing.F) {
	f.Add([]byte(full))
	for _, c := range decodeErrors {
		if len(c.manifest) < 4096 { // large ones are about sizes, and slow the fuzzer down
			f.Add([]byte(c.manifest))
		}
	}
	for _, seed := range []string{
		"apiVersion: holdfast/v1\nkind: Host\nmetadata: {name: h}\nspec: {uri: 'qemu:///system'}\n---\napiVersion: holdfast/v1\nkind: ClusterConfig\n",
		`{"apiVersion":"holdfast/v1","kind":"VirtualMachine","metadata":{"name":"a","annotations":{"k":"\ud83d\ude00\u0000"}},"spec":{"template":{"memory":"1Gi"}}}`,
		"&a [*a]", "{<<: &a {<<: *a}}", "? [a]\n: b", "!!binary aGk=", "\xff\xfe", "- - - -", "%YAML 1.1\n---\n", "a: &x !!map *x",
		"apiVersion: holdfast/v1\nkind: VirtualMachine\nmetadata: {name: a, annotations: {n: '0o7', m: 1_000.5, t: 2001-01-01, y: 'y', e: ''}}\nspec: {template: {memory: 1Gi}}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := DecodeManifests("f", data)
		if err != nil {
			if len(err.(ManifestErrors)) == 0 || err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		for _, d := range docs {
			text, err := json.Marshal(d.Object)
			if err != nil {
				t.Fatal(err)
			}
			asYAML, err := yaml.Marshal(d.Object)
			if err != nil {
				t.Fatal(err)
			}
			for _, again := range [][]byte{text, asYAML} {
				docs, err := DecodeManifests("again", again)
				if err != nil {
					t.Fatalf("%v\n%s", err, again)
				}
				if len(docs) != 1 || !reflect.DeepEqual(normal(docs[0].Object), normal(d.Object)) {
					t.Fatalf("read again: %+v\nwas: %+v\n%s", docs[0].Object, d.Object, again)
				}
			}
		}
	})
}

// normal is an object without the difference between no list and an empty one, which JSON does not keep.
func normal(o Object) any {
	text, _ := json.Marshal(o)
	var m any
	_ = json.NewDecoder(strings.NewReader(string(text))).Decode(&m)
	return m
}
