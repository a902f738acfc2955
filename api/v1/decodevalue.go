package v1

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// docDecoder reads one document. It walks the document's nodes and the Go type side by side, so that every problem has a field
// and a line.
type docDecoder struct {
	file     *fileDecoder
	problems []ManifestError
	written  map[string]position
	// meant are fields that the author wrote under a wrong name or in a wrong place.
	meant map[string]bool
}

func valueOf(o Object) reflect.Value { return reflect.ValueOf(o).Elem() }

// problem notes what is wrong with the value of a field: where the field is written, which for an alias is not where n is.
func (d *docDecoder) problem(n *yaml.Node, path, problem, remedy string) {
	at, ok := d.written[path]
	if !ok {
		at = position{n.Line, n.Column}
	}
	d.problemAt(at, path, problem, remedy)
}

// keyProblem notes what is wrong with the name of a field.
func (d *docDecoder) keyProblem(key *yaml.Node, path, problem, remedy string) {
	d.problemAt(position{key.Line, key.Column}, path, problem, remedy)
}

func (d *docDecoder) problemAt(at position, path, problem, remedy string) {
	d.problems = append(d.problems,
		ManifestError{Line: at.line, Column: at.column, FieldError: FieldError{Field: path, Problem: problem, Remedy: remedy}})
	if len(d.problems)+len(d.file.problems) >= maxProblems {
		d.file.nodes = min(d.file.nodes, 0) // that is enough to begin with
	}
}

// complained tells whether a problem about a field, or about what holds it, is already known. Such a field need not be valid, too.
func (d *docDecoder) complained(path string) bool {
	if d.meant[path] {
		return true
	}
	for _, p := range d.problems {
		if rest, ok := strings.CutPrefix(path, p.Field); ok && p.Field != "" && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// spend counts a node that is looked at, and tells whether reading goes on.
func (d *docDecoder) spend() bool {
	d.file.nodes--
	return d.file.nodes >= 0
}

// value reads a node into a Go value. A null is an absent field.
func (d *docDecoder) value(n *yaml.Node, v reflect.Value, path string) {
	at := position{n.Line, n.Column}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !d.spend() || n.ShortTag() == "!!null" {
		return
	}
	if path != "" {
		d.written[path] = at
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if !strings.HasPrefix(n.Tag, "!!") {
		d.problem(n, path, "the tag "+n.Tag+" means nothing here", "remove it")
		return
	}
	_, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch {
	case isText || v.Kind() != reflect.Struct && v.Kind() != reflect.Slice && v.Kind() != reflect.Map:
		d.scalar(n, v, path)
	case v.Kind() == reflect.Struct:
		d.structure(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	default:
		d.textMap(n, v, path)
	}
}

func (d *docDecoder) structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "this is "+describe(n)+" where a mapping of fields is needed", "its fields are "+andList(fieldNames(v.Type())))
		return
	}
	fields := fieldsOf(v.Type())
	d.entries(n, path, func(key, value *yaml.Node) {
		field := join(path, key.Value)
		if field == "status" {
			return // Holdfast writes it; what people send back is not looked at
		}
		index, ok := fields[key.Value]
		if !ok {
			remedy, meant := suggest(key.Value, v.Type(), path)
			d.meant[meant] = true
			d.keyProblem(key, field, fmt.Sprintf("unknown field %q", key.Value), remedy)
			return
		}
		d.value(value, v.FieldByIndex(index), field)
	})
}

func (d *docDecoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, path, "this is "+describe(n)+" where a list is needed", `begin each element with "- "`)
		return
	}
	if len(n.Content) > maxElements {
		d.problem(n, path, fmt.Sprintf("the list has %d elements", len(n.Content)), fmt.Sprintf("keep it within %d", maxElements))
		return
	}
	for i, c := range n.Content {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		d.value(c, v.Index(i), FieldIndex(path, i))
	}
}

func (d *docDecoder) textMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "this is "+describe(n)+" where a mapping of text to text is needed", `write each as "key: value"`)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.entries(n, path, func(key, value *yaml.Node) {
		text := reflect.New(v.Type().Elem()).Elem()
		d.value(value, text, FieldKey(path, key.Value))
		v.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
}

// FieldKey writes the path of a map's element, as errors name it: "metadata.labels[app]".
func FieldKey(m, key string) string { return m + "[" + key + "]" }

// scalar reads a node that must be a single value.
func (d *docDecoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.problem(n, path, "this is "+describe(n)+" where "+wants(v)+" is needed", "")
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, t, path)
		return
	}
	tag := n.ShortTag()
	switch v.Kind() {
	case reflect.String:
		// An unquoted date is the only thing that YAML takes for something else and that cannot be misread as text.
		if tag != "!!str" && tag != "!!timestamp" {
			d.problem(n, path, "this is "+describe(n)+" where text is needed", "put it in quotes: "+strconv.Quote(n.Value))
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if tag != "!!bool" {
			d.problem(n, path, "this is "+describe(n)+" where true or false is needed", "write true or false, without quotes")
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if tag != "!!int" || err != nil {
			d.problem(n, path, "this is "+describe(n)+" where a whole number is needed", "write digits only, without quotes")
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if tag != "!!int" && tag != "!!float" || err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			d.problem(n, path, "this is "+describe(n)+" where a number is needed", "write digits with an optional decimal point, without quotes")
			return
		}
		v.SetFloat(f)
	default:
		panic("api/v1: no way to read a " + v.Type().String())
	}
}

// text reads what is written as text in a form of its own: quantities, durations, times.
func (d *docDecoder) text(n *yaml.Node, t encoding.TextUnmarshaler, path string) {
	switch err := t.UnmarshalText([]byte(n.Value)); {
	case err == nil:
	case isTime(t):
		d.problem(n, path, fmt.Sprintf("%q is not a time", n.Value), "write it like 2026-01-31T12:00:00Z")
	default:
		d.problem(n, path, err.Error(), "")
	}
}

func isTime(t encoding.TextUnmarshaler) bool {
	_, ok := t.(*time.Time)
	return ok
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// wants says in words what a Go value can hold.
func wants(v reflect.Value) string {
	switch v.Interface().(type) {
	case Quantity:
		return "a quantity like 2Gi"
	case Duration:
		return "a duration like 30s"
	case time.Time:
		return "a time"
	}
	switch v.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}

// describe says in words what a node is.
func describe(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	shown := n.Value
	if len(shown) > 40 {
		shown = strings.ToValidUTF8(shown[:40], "") + "…"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + shown
	case "!!bool":
		return "the truth value " + shown
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "the date " + shown
	}
	return "the text " + strconv.Quote(shown)
}
