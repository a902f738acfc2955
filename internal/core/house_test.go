package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/holdfast-vm/holdfast/"

// arrows says what each part of the house may import of ours. A package's own sub-packages count as itself. What is not listed may
// not be imported, and a package that is not listed fails the test: whoever adds one says where it belongs.
var arrows = map[string][]string{
	"api/v1":              {},
	"client":              {"api/v1"},
	"internal/core":       {"api/v1", "internal/hypervisor"},
	"internal/hypervisor": {"api/v1"},
	"internal/store":      {"api/v1"},
	"internal/invariant":  {"api/v1", "internal/hypervisor", "internal/store", "internal/core"},
	"internal/registry":   {"api/v1", "internal/store"},
	"internal/engine":     {"api/v1", "internal/core", "internal/hypervisor", "internal/store"},
	"internal/apiserver":  {"api/v1", "client", "internal/registry", "internal/store"},
	"internal/lab":        {"api/v1"},
	"internal/docgen":     {"api/v1"},
	"internal/stories":    {"api/v1", "internal/core", "internal/engine", "internal/hypervisor", "internal/invariant", "internal/registry", "internal/store"},
	"internal/cli":        {"api/v1", "client", "internal/lab"},
	"internal/labtests":   {"*"},
	"internal/bench":      {"*"},
	"cmd/holdfast":        {"*"},
}

// TestImportsPointDown guards docs/architecture.md's picture of the house. Tests may import what they like.
func TestImportsPointDown(t *testing.T) {
	root := repositoryRoot(t)
	fset := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, _ := filepath.Rel(root, filepath.Dir(path))
		from, ok := room(filepath.ToSlash(rel))
		if !ok {
			t.Errorf("%s: the package is in no room of the house; add it to arrows in house_test.go and to docs/architecture.md", rel)
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			ours, found := strings.CutPrefix(p, module)
			if !found {
				continue
			}
			seen++
			to, ok := room(ours)
			if !ok || from != to && !allowed(from, to) {
				t.Errorf("%s imports %s: that arrow points up or sideways (see docs/architecture.md)", rel, ours)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d imports seen: the walk has missed the tree", seen)
	}
}

// room is the longest listed path that pkg lies in.
func room(pkg string) (string, bool) {
	for p := pkg; p != "."; p = filepath.Dir(p) {
		if _, ok := arrows[p]; ok {
			return p, true
		}
	}
	return "", false
}

func allowed(from, to string) bool {
	for _, a := range arrows[from] {
		if a == to || a == "*" {
			return true
		}
	}
	return false
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
}

// TestCoreIsPure: no clock, randomness, goroutine, channel or I/O in the core, and no range over a map unless a comment says why its
// order cannot be seen.
func TestCoreIsPure(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:  repositoryRoot(t),
	}, "./internal/core/...")
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("only %d packages found", len(pkgs))
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			t.Fatal(e)
		}
		for _, v := range impurities(pkg.Fset, pkg.Syntax, pkg.TypesInfo) {
			t.Error(v)
		}
	}
}

// mayImport is all of the standard library that deciding needs.
var mayImport = map[string]bool{
	"cmp": true, "container/heap": true, "fmt": true, "hash/fnv": true, "maps": true, "math": true, "reflect": true, "slices": true,
	"sort": true, "strconv": true, "strings": true, "time": true,
}

// clock holds what time offers besides arithmetic.
var clock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true,
}

func impurities(fset *token.FileSet, files []*ast.File, info *types.Info) []string {
	var out []string
	add := func(n ast.Node, what string) { out = append(out, fset.Position(n.Pos()).String()+": "+what) }
	for _, f := range files {
		comments := map[int]bool{}
		for _, g := range f.Comments {
			if strings.HasPrefix(g.Text(), "any order:") {
				comments[fset.Position(g.Pos()).Line] = true
			}
		}
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if !mayImport[p] && !strings.HasPrefix(p, module) {
				add(imp, "the core may not import "+p)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				add(n, "a goroutine in the core")
			case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				add(n, "a channel in the core")
			case *ast.SelectorExpr:
				if obj := info.Uses[n.Sel]; obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "time" && clock[obj.Name()] {
					if _, method := info.Selections[n]; !method {
						add(n, "the core reads a clock: time."+obj.Name())
					}
				}
			case *ast.RangeStmt:
				if _, isMap := info.TypeOf(n.X).Underlying().(*types.Map); isMap && !comments[fset.Position(n.Pos()).Line] {
					add(n, "a range over a map: its order is random; sort the keys, or say on the line why it cannot be seen (// any order: …)")
				}
			}
			return true
		})
	}
	return out
}

// TestImpuritiesAreFound keeps the guard honest.
func TestImpuritiesAreFound(t *testing.T) {
	const src = `package p
import ("math/rand"; "time")
var m map[string]int
func f() int {
	_ = time.Now()
	_ = time.Time{}.After(time.Time{})
	go f()
	c := make(chan int)
	c <- 1
	for range m { }
	for range m { } // any order: nothing is done
	return rand.Int()
}`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: stdImporter(fset)}
	if _, err := conf.Check("p", fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	got := impurities(fset, []*ast.File{file}, info)
	want := []string{"may not import math/rand", "time.Now", "goroutine", "channel", "channel", "range over a map"}
	if len(got) != len(want) {
		t.Fatalf("found %q, want one each of %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%d: %q, want %q", i, got[i], want[i])
		}
	}
}
