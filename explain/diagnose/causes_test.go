package diagnose

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// ownFiles are files of a cause beside the one that has its value.
var ownFiles = map[string]string{
	"cpu_plan.go": "CPUContention", // where its threads may go
	"held_up.go":  "CPUContention", // that of a data worker, before it was waited for
}

// TestOnlyACauseKnowsItsKind: what differs between causes is asked of their values. No other file
// compares a kind with one of those there are, nor has a list of some.
func TestOnlyACauseKnowsItsKind(t *testing.T) {
	files := productionFiles(t)
	kinds := kindNames(files["causes.go"])
	if len(kinds) != len(Kinds)+1 { // waiting for work is no cause
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

// kindNames are the constants of causes.go.
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

// ownKinds are the kinds of the causes that a file has the values of.
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
