package diagnose

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// ownFiles are further files of a cause, besides the one with its value.
var ownFiles = map[string]string{
	"cpu_plan.go": "CPUContention", // to which CPUs its threads may be moved
	"held_up.go":  "CPUContention", // contention of a data worker before the wait for it
}

// TestOnlyACauseKnowsItsKind checks that other files use the fields of causes: no other file
// compares a kind with a constant, or has a list of kinds.
func TestOnlyACauseKnowsItsKind(t *testing.T) {
	files := productionFiles(t)
	kinds := kindNames(files["causes.go"])
	if len(kinds) != len(Kinds)+1 { // the kind of waiting for work is not in Kinds
		t.Fatalf("causes.go declares %d kinds %v, Kinds lists %d", len(kinds), kinds, len(Kinds))
	}
	for name, file := range files {
		own := ownKinds(file)
		if k := ownFiles[name]; k != "" {
			own = append(own, k)
		}
		check := func(list ...ast.Expr) {
			for _, e := range list {
				if id, ok := e.(*ast.Ident); ok && slices.Contains(kinds, id.Name) && !slices.Contains(own, id.Name) {
					t.Errorf("%s asks for the kind %s: let a field of its cause tell (causes.go)", name, id.Name)
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

// kindNames returns the constants for kinds in causes.go.
func kindNames(file *ast.File) []string {
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
				if id, ok := kv.Value.(*ast.Ident); ok {
					kinds = append(kinds, id.Name)
				}
			}
			return true
		})
	}
	return kinds
}
