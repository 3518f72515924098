package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
)

// ownFiles are further files of a cause, besides the one with its value.
var ownFiles = map[string]string{
	"cpu_plan.go": "CauseCPUContention", // to which CPUs its threads may be moved
	"held_up.go":  "CauseCPUContention", // contention of a data worker before the wait for it
}

// TestOnlyACauseKnowsItsKind checks that other files use the fields of causes: no other file
// compares a kind with a constant, or has a list of kinds.
func TestOnlyACauseKnowsItsKind(t *testing.T) {
	files := productionFiles(t)
	declared, err := parser.ParseFile(token.NewFileSet(), "../../event/cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := constantNames(declared)
	if len(kinds) != len(event.Causes) {
		t.Fatalf("event/cause.go declares %d kinds %v, event.Causes lists %d", len(kinds), kinds, len(event.Causes))
	}
	kinds = append(kinds, constantNames(files["causes.go"])...) // that of waiting for work
	for name, file := range files {
		own := ownKinds(file)
		if k := ownFiles[name]; k != "" {
			own = append(own, k)
		}
		check := func(list ...ast.Expr) {
			for _, e := range list {
				if k := constant(e); slices.Contains(kinds, k) && !slices.Contains(own, k) {
					t.Errorf("%s asks for the kind %s: let a field of its cause tell (causes.go)", name, k)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if x.Op == token.EQL || x.Op == token.NEQ {
					check(x.X, x.Y)
				}
			case *ast.CaseClause:
				check(x.List...)
			case *ast.CompositeLit:
				if name != "causes.go" {
					check(x.Elts...)
				}
			}
			return true
		})
	}
}

// constant is the name of a constant, of this package or of event; "" if an expression is none.
func constant(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// constantNames returns the constants that a file declares.
func constantNames(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				names = append(names, s.(*ast.ValueSpec).Names[0].Name)
			}
		}
	}
	return names
}

// ownKinds returns the kinds of the causes whose values are in a file.
func ownKinds(file *ast.File) []string {
	var kinds []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		ast.Inspect(g, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			typ, ok := lit.Type.(*ast.Ident)
			if !ok || typ.Name != "cause" {
				return true
			}
			for _, e := range lit.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok || kv.Key.(*ast.Ident).Name != "kind" {
					continue
				}
				kinds = append(kinds, constant(kv.Value))
			}
			return true
		})
	}
	return kinds
}
