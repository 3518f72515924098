package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestStepsOfPreparationSayWhatTheyNeed: a step reads only what it says, and that was given by steps
// before it.
func TestStepsOfPreparationSayWhatTheyNeed(t *testing.T) {
	uses := fieldsUsed(t)
	whenAsked := []string{"in", "launched", "medians", "resends"}
	given := map[string]bool{}
	for _, p := range preparations {
		name := nameOf(p.run)
		needs, gives := strings.Fields(p.needs), strings.Fields(p.gives)
		for _, f := range needs {
			if !given[f] {
				t.Errorf("%s needs %s, which no step before it gives", name, f)
			}
		}
		said := slices.Concat(needs, gives, whenAsked)
		for _, f := range uses.of(name, map[string]bool{}) {
			if !slices.Contains(said, f) {
				t.Errorf("%s uses %s and does not say so", name, f)
			}
			needs = slices.DeleteFunc(needs, func(n string) bool { return n == f })
		}
		if len(needs) > 0 {
			t.Errorf("%s says that it needs %v, and does not use it", name, needs)
		}
		for _, f := range gives {
			if given[f] {
				t.Errorf("%s gives %s, which a step before it gave", name, f)
			}
			given[f] = true
		}
	}
}

// nameOf is a method's name.
func nameOf(method func(*evidence)) string {
	full := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// methodUses are, by method of evidence, the fields and methods of its receiver that it names.
type methodUses map[string]map[string]bool

// of are the fields that a method uses, by itself and in methods that it calls.
func (u methodUses) of(method string, seen map[string]bool) []string {
	seen[method] = true
	fields := map[string]bool{}
	for name := range u[method] {
		if _, ok := u[name]; !ok {
			fields[name] = true
		} else if !seen[name] {
			for _, f := range u.of(name, seen) {
				fields[f] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// fieldsUsed reads them from the source. The receiver is always called ev.
func fieldsUsed(t *testing.T) methodUses {
	uses := methodUses{}
	for _, file := range productionFiles(t) {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 || fn.Recv.List[0].Names[0].Name != "ev" {
				continue
			}
			names := map[string]bool{}
			ast.Inspect(fn, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "ev" {
						names[sel.Sel.Name] = true
					}
				}
				return true
			})
			uses[fn.Name.Name] = names
		}
	}
	return uses
}

// productionFiles are this package's files without its tests, by name.
func productionFiles(t *testing.T) map[string]*ast.File {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
