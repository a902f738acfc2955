package v1

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// manifestKinds are the kinds that people write, in the order in which messages list them.
var manifestKinds = []string{KindVirtualMachine, KindHost, KindClusterConfig}

// kind looks at what a document says it is and returns a new object of that kind, or nil after saying why it cannot be read.
func (d *docDecoder) kind(n *yaml.Node) Object {
	if n.Kind != yaml.MappingNode {
		d.problem(n, "", "a document is a mapping of fields, and this is "+describe(n),
			"begin it with apiVersion: "+APIVersion+" and kind: "+KindVirtualMachine)
		return nil
	}
	version, kind := d.header(n, "apiVersion"), d.header(n, "kind")
	if len(d.problems) > 0 {
		return nil
	}
	if version != APIVersion {
		d.problem(n, "apiVersion", fmt.Sprintf("%q is not a version that this server speaks", version), "write apiVersion: "+APIVersion)
		return nil
	}
	switch kind {
	case KindVirtualMachine:
		return &VirtualMachine{}
	case KindHost:
		return &Host{}
	case KindClusterConfig:
		return &ClusterConfig{}
	case KindAction:
		d.problem(n, "kind", "an Action is not written in a manifest", "use holdfast start, stop or restart")
	case KindEvent:
		d.problem(n, "kind", "an Event is not written in a manifest: Holdfast writes them", "remove the document")
	default:
		d.problem(n, "kind", fmt.Sprintf("%q is not a kind", kind), oneOf(kind, manifestKinds))
	}
	return nil
}

// header reads one of the two fields that say what a document is.
func (d *docDecoder) header(n *yaml.Node, field string) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != field {
			continue
		}
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.ShortTag() != "!!str" {
			d.problem(value, field, "this is "+describe(value)+" where text is needed", "write apiVersion: "+APIVersion+" and a kind")
			return ""
		}
		d.written[field] = position{value.Line, value.Column}
		return value.Value
	}
	remedy := "write apiVersion: " + APIVersion
	if field == "kind" {
		remedy = "write kind: " + orList(manifestKinds)
	}
	d.problem(n, field, "missing", remedy)
	return ""
}
