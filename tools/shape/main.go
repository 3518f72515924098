// Command shape measures how easy it is to find one's way in a tree of Go: how many folders and packages it has, how
// long files, functions and lines are, which types have most fields and methods, and how many words the documents have.
//
//	shape [-packages] [-types agent.run,probe.Tracer] [ROOT]
//
// ROOT is a checkout. Run it on two to compare them (docs/architecture.md has what it printed).
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the style guide.
const (
	maxFile     = 400 // lines
	maxFunction = 60  // lines
	maxLine     = 120 // characters, a tab is one
)

// typeSize is a type with its fields and methods.
type typeSize struct {
	name            string // PACKAGE.TYPE
	fields, methods int
}

// size is that of a package, or of a folder with its packages.
type size struct{ packages, files, lines int }

func (z *size) addSize(files, lines int) { z.files, z.lines = z.files+files, z.lines+lines }

// shape is what is counted of a tree, generated code and tests left out.
type shape struct {
	folders, packages map[string]*size
	files, lines      int
	words             int // of documents
	longFiles         int
	longest           int // lines of the longest file
	functions         int
	longFunctions     int
	wide              int // lines over maxLine
	types             map[string]*typeSize
	imports           map[string]map[string]bool // by imported package of the tree, who imports it
}

func main() {
	packages := flag.Bool("packages", false, "also print the files and lines of each package")
	types := flag.String("types", "", "types to print besides the largest, such as agent.run,probe.Tracer")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	s := &shape{
		folders: map[string]*size{}, packages: map[string]*size{},
		types: map[string]*typeSize{}, imports: map[string]map[string]bool{},
	}
	if err := s.read(root); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	s.print()
	s.printTypes(strings.FieldsFunc(*types, func(r rune) bool { return r == ',' }))
	printSizes("folders", s.folders)
	if *packages {
		printSizes("packages", s.packages)
	}
}

func (s *shape) read(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path) // it lies below the root
		name := e.Name()
		if e.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(path)
			s.words += len(strings.Fields(string(text)))
			return err
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return s.file(path, rel)
		}
		return nil
	})
}

func (s *shape) file(path, rel string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	dir := filepath.ToSlash(filepath.Dir(rel))
	top, _, _ := strings.Cut(dir, "/")
	if s.folders[top] == nil {
		s.folders[top] = &size{}
	}
	if s.packages[dir] == nil {
		s.packages[dir] = &size{}
		s.folders[top].packages++
	}
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxLine {
			s.wide++
		}
	}
	s.files++
	s.lines += n
	s.packages[dir].addSize(1, n)
	s.folders[top].addSize(1, n)
	s.longest = max(s.longest, n)
	if n > maxFile {
		s.longFiles++
	}
	for _, i := range f.Imports {
		if _, of, ok := strings.Cut(strings.Trim(i.Path.Value, `"`), "/ingero/"); ok {
			if s.imports[of] == nil {
				s.imports[of] = map[string]bool{}
			}
			s.imports[of][dir] = true
		}
	}
	for _, d := range f.Decls {
		s.declaration(set, dir, d)
	}
	return nil
}

func (s *shape) declaration(set *token.FileSet, dir string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.functions++
		if set.Position(d.End()).Line-set.Position(d.Pos()).Line+1 > maxFunction {
			s.longFunctions++
		}
		if d.Recv != nil && len(d.Recv.List) == 1 {
			t := d.Recv.List[0].Type
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			if id, ok := t.(*ast.Ident); ok {
				s.sizeOf(dir, id.Name).methods++
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			switch x := t.Type.(type) {
			case *ast.StructType:
				for _, field := range x.Fields.List {
					s.sizeOf(dir, t.Name.Name).fields += max(1, len(field.Names))
				}
			case *ast.InterfaceType:
				s.sizeOf(dir, t.Name.Name).methods += len(x.Methods.List)
			}
		}
	}
}

func (s *shape) sizeOf(dir, name string) *typeSize {
	key := dir + "." + name
	if s.types[key] == nil {
		s.types[key] = &typeSize{name: key}
	}
	return s.types[key]
}

func (s *shape) print() {
	fmt.Printf("folders with Go at the root     %d\n", len(s.folders))
	fmt.Printf("packages                        %d\n", len(s.packages))
	fmt.Printf("files, lines                    %d, %d\n", s.files, s.lines)
	fmt.Printf("longest file, over %d lines    %d, %d\n", maxFile, s.longest, s.longFiles)
	fmt.Printf("functions, over %d lines        %d, %d\n", maxFunction, s.functions, s.longFunctions)
	fmt.Printf("lines over %d, in a thousand   %d, %.1f\n", maxLine, s.wide, 1000*float64(s.wide)/float64(max(s.lines, 1)))
	fmt.Printf("packages that import store/sqlite  %d\n", len(s.imports["store/sqlite"]))
	fmt.Printf("words in documents              %d\n", s.words)
}

// printTypes prints the largest types, and those that are named.
func (s *shape) printTypes(named []string) {
	var list []*typeSize
	for _, t := range s.types {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *typeSize) int {
		if d := b.fields + b.methods - a.fields - a.methods; d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	fmt.Println("largest types: fields, methods")
	for i, t := range list {
		if i < 10 || slices.ContainsFunc(named, func(n string) bool { return strings.HasSuffix("/"+t.name, "/"+n) }) {
			fmt.Printf("  %-28s %3d %4d\n", t.name, t.fields, t.methods)
		}
	}
}

func printSizes(of string, sizes map[string]*size) {
	fmt.Printf("%s: packages, files, lines\n", of)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		z := sizes[name]
		fmt.Printf("  %-28s %3d %4d %6d\n", name, max(z.packages, 1), z.files, z.lines)
	}
}
