// Package docgen writes the manifest reference from the field comments of api/v1.
//
// It exists so that what users read about a field is what stands next to it in the code. It knows Go syntax and Markdown, and
// nothing of what the fields mean. Run "go run ./internal/docgen/cmd" in the root of the repository after changing a field.
package docgen

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
)

// Output is where the reference belongs, from the root of the repository.
const Output = "docs/manifest-reference.md"

// kinds that people write, in the order of the reference.
var kinds = []string{"VirtualMachine", "Host", "ClusterConfig"}

// Examples are the manifests in the reference, by kind.
var Examples = map[string]string{"VirtualMachine": exampleVM, "Host": exampleHost, "ClusterConfig": exampleCluster}

//go:embed examples/virtualmachine.yaml
var exampleVM string

//go:embed examples/host.yaml
var exampleHost string

//go:embed examples/clusterconfig.yaml
var exampleCluster string

// field is one field of a struct as manifests have it.
type field struct{ name, typ, def, doc string }

// structure is one struct of api/v1.
type structure struct {
	doc    string
	fields []field
}

// types are the types of api/v1 by name.
type types struct {
	structs map[string]structure
	// words are the named types that are written as text, with what they are in words.
	words map[string]string
}

// Generate writes the reference from the Go files in source, which is api/v1.
func Generate(source fs.FS) ([]byte, error) {
	t, err := read(source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(preface)
	done := map[string]bool{}
	for _, kind := range kinds {
		s, ok := t.structs[kind]
		if !ok {
			return nil, fmt.Errorf("api/v1 has no type %s", kind)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```yaml\n%s```\n", kind, s.doc, Examples[kind])
		t.section(&b, kind, done)
	}
	return b.Bytes(), nil
}

const preface = `<!-- Generated from the comments in api/v1 by "go run ./internal/docgen/cmd". Do not edit. -->

# Manifest reference

A manifest is YAML with any number of documents, separated by ` + "`---`" + `, or JSON with one. Each document is one object. An unknown
field, a value of the wrong type or a field that is given twice is an error that names the file, the line, the field and the
remedy; a file with one bad document changes nothing.

* A *quantity* is a whole number of bytes with an optional suffix: Ki, Mi, Gi, Ti (powers of 1024), k, M, G, T (powers of 1000).
* A *duration* is a number with a unit: ` + "`500ms`, `30s`, `5m`, `1h30m`" + `.
* Who wants a default leaves the field out. A zero that would mean the default is refused, since it reads like none at all.
* ` + "`status`" + ` is what Holdfast observes and decides. A manifest may hold one, as ` + "`get -o yaml`" + ` prints it; it is not looked at.

Contents: [VirtualMachine](#virtualmachine), [Host](#host), [ClusterConfig](#clusterconfig).
`

// section writes the table of a type, and after it those of the types that its fields have and that have none yet.
func (t *types) section(b *bytes.Buffer, name string, done map[string]bool) {
	if done[name] {
		return
	}
	done[name] = true
	b.WriteString("\n| field | type | default | description |\n|---|---|---|---|\n")
	var nested []string
	for _, f := range t.structs[name].fields {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, t.typeText(f.typ), cell(f.def), cell(f.doc))
		if inner := strings.TrimLeft(f.typ, "[]*"); t.isStruct(inner) && !done[inner] {
			nested = append(nested, inner)
		}
	}
	for _, inner := range nested {
		if !done[inner] {
			fmt.Fprintf(b, "\n### %s\n\n%s\n", inner, t.structs[inner].doc)
			t.section(b, inner, done)
		}
	}
}

func (t *types) isStruct(name string) bool {
	_, ok := t.structs[name]
	return ok
}

// typeText is a Go type in words.
func (t *types) typeText(typ string) string {
	switch {
	case strings.HasPrefix(typ, "*"):
		return t.typeText(typ[1:])
	case strings.HasPrefix(typ, "[]"):
		return "list of " + t.typeText(typ[2:])
	case strings.HasPrefix(typ, "map["):
		return "text by text"
	case t.isStruct(typ):
		return fmt.Sprintf("[%s](#%s)", typ, strings.ToLower(typ))
	}
	if w, ok := t.words[typ]; ok {
		return w
	}
	return typ
}

func cell(doc string) string { return strings.ReplaceAll(doc, "|", `\|`) }

// read parses the types of a package.
func read(source fs.FS) (*types, error) {
	t := &types{structs: map[string]structure{}, words: map[string]string{
		"string": "text", "bool": "true or false", "int": "number", "int64": "number", "float64": "number with a fraction",
		"time.Time": "time", "Quantity": "quantity", "Duration": "duration",
	}}
	files, err := fs.Glob(source, "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				for _, spec := range decl.Specs {
					t.add(spec.(*ast.TypeSpec), decl.Doc)
				}
			}
			return true
		})
	}
	return t, nil
}

func (t *types) add(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	switch typ := spec.Type.(type) {
	case *ast.Ident:
		if _, known := t.words[spec.Name.Name]; !known {
			t.words[spec.Name.Name] = "text"
		}
	case *ast.StructType:
		s := structure{doc: sentence(spec.Name.Name, doc)}
		last := ""
		for _, f := range typ.Fields.List {
			if f.Tag == nil {
				continue
			}
			name, option, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
			if strings.Contains(option, "inline") {
				s.fields = append(s.fields, t.structs["TypeMeta"].fields...)
				continue
			}
			goName := ""
			if len(f.Names) > 0 {
				goName = f.Names[0].Name
			}
			// A comment that begins "A and B" is about the next field, too.
			text := sentence(goName, f.Doc)
			if rest, ok := strings.CutPrefix(text, goName+" "); ok && verb.MatchString(rest) {
				text = "`" + name + "` " + rest
			}
			if text == "" {
				text = last
			}
			last = text
			def := ""
			if m := meansDefault.FindStringSubmatchIndex(text); m != nil {
				def = text[m[2]:m[3]]
				text = strings.TrimSpace(text[:m[0]] + ". " + text[m[1]:])
			}
			s.fields = append(s.fields, field{name, typeName(f.Type), def, text})
		}
		t.structs[spec.Name.Name] = s
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeName(e.X)
	case *ast.ArrayType:
		return "[]" + typeName(e.Elt)
	case *ast.MapType:
		return "map[" + typeName(e.Key) + "]" + typeName(e.Value)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	}
	return "?"
}

// meansDefault is the sentence, or the end of one, that says what an empty field means.
var meansDefault = regexp.MustCompile(`(?:[.;] |^)(?:[Zz]ero|[Ee]mpty|[Nn]il) means (.+?)(?:\.( |$))`)

// verb is what follows a field's Go name where the sentence is about the field: there it takes the name that manifests use.
var verb = regexp.MustCompile(`^[a-z]+s `)

var space = regexp.MustCompile(`\s+`)

// sentence is a doc comment without what only Go wants: "Name is the …" and "Name: the …" lose the name.
func sentence(name string, doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	text := strings.TrimSpace(space.ReplaceAllString(doc.Text(), " "))
	for _, prefix := range []string{name + " is ", name + " are ", name + ": "} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}
