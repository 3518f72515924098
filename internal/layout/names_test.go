package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// common are words that say nothing when one searches for a function: each is its name in a few packages at most.
var common = []string{"add", "run", "read", "take", "text", "rows", "count", "of", "on", "own", "all", "forget"}

// mostPackages is in how many packages a function or method may have a common name.
const mostPackages = 8

func TestNamesOfFunctionsCanBeSearched(t *testing.T) {
	t.Parallel()
	folders := map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(notTexts, e.Name()):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(common, f.Name.Name) {
				continue
			}
			if in := filepath.Dir(path); !slices.Contains(folders[f.Name.Name], in) {
				folders[f.Name.Name] = append(folders[f.Name.Name], in)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		t.Fatal("no function has any of the names; is this the right folder?")
	}
	for name, in := range folders {
		if len(in) > mostPackages {
			t.Errorf("%d packages have a function %s: %s; say what it does to what", len(in), name, strings.Join(in, ", "))
		}
	}
}
