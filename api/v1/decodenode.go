package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMergeDepth of "<<" within "<<".
const maxMergeDepth = 16

// entries hands the fields of a mapping to each: its own, then those it merges ("<<") and does not have itself. A field written
// twice is a problem.
func (d *docDecoder) entries(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	seen := map[string]int{}
	d.mergedEntries(n, path, seen, 0, each)
}

func (d *docDecoder) mergedEntries(n *yaml.Node, path string, seen map[string]int, depth int, each func(key, value *yaml.Node)) {
	var merges []*yaml.Node
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && d.spend(); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			merges = append(merges, value)
			continue
		case key.Kind != yaml.ScalarNode:
			d.keyProblem(key, path, "a field's name is text, and this is "+describe(key), "")
			continue
		}
		line, dup := seen[key.Value]
		switch {
		case dup && (own[key.Value] || depth == 0):
			d.keyProblem(key, join(path, key.Value), fmt.Sprintf("field %q is already given at line %d", key.Value, line), "keep one of the two")
			continue
		case dup:
			continue
		}
		own[key.Value], seen[key.Value] = true, key.Line
		each(key, value)
	}
	for _, m := range merges {
		d.merge(m, path, seen, depth, each)
	}
}

func (d *docDecoder) merge(m *yaml.Node, path string, seen map[string]int, depth int, each func(key, value *yaml.Node)) {
	if !d.spend() {
		return
	}
	if m.Kind == yaml.AliasNode {
		m = m.Alias
	}
	switch {
	case depth >= maxMergeDepth:
		d.problem(m, path, `"<<" is nested too deeply`, "write the fields out")
	case m.Kind == yaml.SequenceNode:
		for _, c := range m.Content {
			d.merge(c, path, seen, depth+1, each)
		}
	case m.Kind == yaml.MappingNode:
		d.mergedEntries(m, path, seen, depth+1, each)
	default:
		d.problem(m, path, `"<<" takes mappings, and this is `+describe(m), "write <<: *anchor")
	}
}

// jsonNode makes of JSON, which must be valid and begin at offset start, the nodes that YAML would have.
// The YAML parser is no help here: it refuses some of JSON's escapes.
func jsonNode(data []byte, start int) *yaml.Node {
	r := &jsonReader{data: data, base: start, line: 1, dec: json.NewDecoder(bytes.NewReader(data[start:]))}
	r.dec.UseNumber()
	return r.node()
}

type jsonReader struct {
	dec  *json.Decoder
	data []byte
	base int
	// at is the offset that line and lineStart belong to.
	at, line, lineStart int
}

func (r *jsonReader) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	r.locate(n)
	token, err := r.dec.Token()
	if err != nil {
		panic("api/v1: JSON that was valid is not: " + err.Error())
	}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.dec.More() {
			n.Content = append(n.Content, r.node())
		}
		_, _ = r.dec.Token() // the closing bracket of valid JSON
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

// locate notes where the next token begins.
func (r *jsonReader) locate(n *yaml.Node) {
	begin := r.base + int(r.dec.InputOffset())
	for strings.IndexByte(" \t\r\n,:", r.data[begin]) >= 0 {
		begin++
	}
	for ; r.at < begin; r.at++ {
		if r.data[r.at] == '\n' {
			r.line, r.lineStart = r.line+1, r.at+1
		}
	}
	n.Line, n.Column = r.line, begin-r.lineStart+1
}
