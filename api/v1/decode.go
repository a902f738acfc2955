package v1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The bounds of a manifest. They are far above what people write, and keep a hostile one from eating the machine.
const (
	// MaxManifestSize in bytes.
	MaxManifestSize = 8 << 20
	// maxNodes that are looked at, each use of an alias counted anew.
	maxNodes = 1_000_000
	// maxElements of a list.
	maxElements = 1000
	// maxProblems that are reported; more help nobody, and finding them takes time.
	maxProblems = 50
)

// Decoder reads manifests.
type Decoder struct {
	// File that problems name; empty for what came without one.
	File string
	// Namespace of objects that name none; empty means "default".
	Namespace string
}

// DecodeManifests reads the objects of one file: YAML with any number of documents, or JSON with one. Fields that only the
// server writes are accepted (people edit what "get -o yaml" printed); status is left out. Objects have their defaults set and
// are valid. The error is ManifestErrors, with all that is wrong with all documents; then there are no objects.
func DecodeManifests(file string, data []byte) ([]Document, error) {
	return Decoder{File: file}.Decode(data)
}

// Decode is DecodeManifests with the decoder's options.
func (d Decoder) Decode(data []byte) ([]Document, error) {
	return d.DecodeFiles(ManifestFile{Name: d.File, Data: data})
}

// ManifestFile is one of several files that are read together.
type ManifestFile struct {
	// Name that problems use; empty for what came without one.
	Name string
	// Data is what is in it.
	Data []byte
}

// DecodeFiles is Decode for several files that are meant together: an object may be in one of them only, and the error has what is
// wrong with all of them, file by file. It does not look at d.File.
func (d Decoder) DecodeFiles(files ...ManifestFile) ([]Document, error) {
	f := &fileDecoder{Decoder: d, nodes: maxNodes, first: map[ObjectRef]place{}}
	var problems ManifestErrors
	for _, file := range files {
		f.File, f.problems = file.Name, nil
		f.decode(file.Data)
		problems = append(problems, f.sorted()...)
		if len(problems) >= maxProblems {
			break
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return f.docs, nil
}

// fileDecoder is the state of reading files, and at each time of one.
type fileDecoder struct {
	Decoder
	docs     []Document
	problems ManifestErrors
	// nodes that may still be looked at.
	nodes int
	// first is where each object was first seen.
	first map[ObjectRef]place
}

// place is a line of a file.
type place struct {
	file string
	line int
}

func (f *fileDecoder) decode(data []byte) {
	if len(data) > MaxManifestSize {
		f.report(0, 0, FieldError{Problem: fmt.Sprintf("the file has %d bytes, more than the %d that are read", len(data), MaxManifestSize),
			Remedy: "split it into several files"})
		return
	}
	if line := invalidUTF8(data); line > 0 {
		f.report(line, 1, FieldError{Problem: "this line is not UTF-8 text", Remedy: "save the file as UTF-8"})
		return
	}
	if text := bytes.TrimLeft(data, "\ufeff \t\r\n"); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		f.document(jsonNode(data, len(data)-len(text)))
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for len(f.problems) <= maxProblems {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, problem := syntaxError(err)
			f.report(line, 1, FieldError{Problem: problem, Remedy: "correct the YAML here or in the lines above"})
			return
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) > 0 && n.Content[0].ShortTag() != "!!null" {
			f.document(n.Content[0])
		}
	}
}

// document reads one document.
func (f *fileDecoder) document(n *yaml.Node) {
	d := &docDecoder{file: f, written: map[string]position{}, meant: map[string]bool{}}
	defer func() {
		for _, p := range d.problems {
			f.report(p.Line, p.Column, p.FieldError)
		}
	}()
	object := d.kind(n)
	if object == nil {
		return
	}
	d.value(n, valueOf(object), "")
	if f.nodes < 0 && len(d.problems) == 0 {
		d.problems = append(d.problems, ManifestError{Line: n.Line, Column: n.Column,
			FieldError: FieldError{Problem: "the file is too large when its aliases are written out", Remedy: "use fewer aliases, or apply it in parts"}})
		return
	}
	d.explicitZeros(object)
	doc := Document{Object: object, File: f.File, Line: n.Line, written: d.written}
	if m := object.GetMetadata(); f.Namespace != "" && m.Namespace == "" {
		if _, ok := object.(*VirtualMachine); ok {
			m.Namespace = f.Namespace
		}
	}
	SetDefaults(object)
	for _, e := range Validate(object) {
		if d.complained(e.Field) {
			continue
		}
		if len(d.problems) > maxProblems {
			break
		}
		line, column := doc.Position(e.Field)
		d.problems = append(d.problems, ManifestError{Line: line, Column: column, FieldError: e})
	}
	ref := RefTo(object)
	ref.UID = ""
	if first, ok := f.first[ref]; ok && ref.Name != "" {
		where := "this file"
		if first.file != f.File {
			where = first.file
		}
		line, column := doc.Position("metadata.name")
		d.problems = append(d.problems, ManifestError{Line: line, Column: column, FieldError: FieldError{Field: "metadata.name",
			Problem: fmt.Sprintf("%s is already in %s, at line %d", ref, where, first.line), Remedy: "rename or remove one of the two"}})
		return
	}
	f.first[ref] = place{f.File, n.Line}
	f.docs = append(f.docs, doc)
}

func (f *fileDecoder) report(line, column int, e FieldError) {
	f.problems = append(f.problems, ManifestError{File: f.File, Line: line, Column: column, FieldError: e})
}

func (f *fileDecoder) sorted() ManifestErrors {
	slices.SortStableFunc(f.problems, func(a, b ManifestError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(f.problems) > maxProblems {
		f.problems = append(f.problems[:maxProblems], ManifestError{File: f.File, FieldError: FieldError{Problem: "and more problems after these"}})
	}
	return f.problems
}

// invalidUTF8 is the first line that is not UTF-8, zero when all are.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return 0
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return 1 + bytes.Count(data[:i], []byte{'\n'})
		}
		i += size
	}
}

var yamlErrorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntaxError takes the line out of the YAML parser's message.
func syntaxError(err error) (line int, problem string) {
	m := yamlErrorLine.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	return max(1, line), "not YAML: " + err.Error()[len(m[0]):]
}
