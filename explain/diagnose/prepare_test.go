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

	"github.com/ingero-io/ingero/event"
)

// TestStepsOfPreparationSayWhatTheyNeed: a step reads only the fields that it declares, and earlier
// steps fill these in.
func TestStepsOfPreparationSayWhatTheyNeed(t *testing.T) {
	uses := fieldsUsed(t)
	whenAsked := []string{"in", "launched", "changed", "waits", "calls.medians", "host.resends", "host.received", "procs.futexes", "procs.woke"}
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

// nameOf returns a method's name.
func nameOf(method func(*evidence)) string {
	full := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// methodUses are the fields and methods that each method of evidence and its parts uses of its
// receiver: a field like "from" or "procs.names", a method by its name, which is unique among the
// parts.
type methodUses map[string]map[string]bool

// of returns the fields that a method uses, directly or in methods that it calls.
func (u methodUses) of(method string, seen map[string]bool) []string {
	seen[method] = true
	fields := map[string]bool{}
	for name := range u[method] {
		called := name[strings.LastIndex(name, ".")+1:]
		if _, ok := u[called]; !ok {
			fields[name] = true
		} else if !seen[called] {
			for _, f := range u.of(called, seen) {
				fields[f] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// partsByType returns the names of evidence's parts by type; the name of evidence itself is empty.
func partsByType() map[string]string {
	parts := map[string]string{"evidence": ""}
	for f := range reflect.TypeFor[evidence]().Fields() {
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == reflect.TypeFor[evidence]().PkgPath() {
			parts[f.Type.Name()] = f.Name
		}
	}
	return parts
}

// fieldsUsed reads the uses from the source.
func fieldsUsed(t *testing.T) methodUses {
	uses, parts := methodUses{}, partsByType()
	for _, file := range productionFiles(t) {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			typ, _ := star.X.(*ast.Ident)
			if typ == nil {
				continue
			}
			part, ok := parts[typ.Name]
			if !ok {
				continue
			}
			if uses[fn.Name.Name] != nil {
				t.Errorf("two parts of evidence have a method %s", fn.Name.Name)
			}
			uses[fn.Name.Name] = named(fn, fn.Recv.List[0].Names[0].Name, part, slices.Collect(maps.Values(parts)))
		}
	}
	return uses
}

// named returns the fields and methods of the receiver that a method uses.
func named(fn *ast.FuncDecl, receiver, part string, parts []string) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name := sel.Sel.Name
		of := part
		if inner, ok := sel.X.(*ast.SelectorExpr); ok && part == "" && slices.Contains(parts, inner.Sel.Name) {
			sel, of = inner, inner.Sel.Name
		} else if part == "" && slices.Contains(parts, name) {
			return true // the selector above it has the part's field
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != receiver {
			return true
		}
		if of != "" && name != "in" {
			name = of + "." + name
		}
		names[name] = true
		return true
	})
	return names
}

// productionFiles returns this package's files without tests, by name.
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

// On x86-64, 65 is semop, 69 is msgsnd and 45 is recvfrom; on arm64 they are readv, preadv and truncate.
func TestSystemCallsAreOfTheRecordingsArchitecture(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arch            string
		syscall         int16
		reads, receives bool
	}{
		{"amd64", 65, false, false},
		{"arm64", 65, true, true},
		{"amd64", 69, false, false},
		{"arm64", 69, true, true},
		{"amd64", 45, false, true},
		{"arm64", 45, false, false},
		{"amd64", 0, true, true},
		{"arm64", 63, true, true},
	} {
		hs := &newEvidence(&Input{Arch: tt.arch}).host
		o := event.OffCPU{Class: event.Network, Syscall: tt.syscall}
		if hs.readCalls[tt.syscall] != tt.reads || hs.receives(&o) != tt.receives {
			t.Errorf("%s: %d reads: %t, receives: %t", tt.arch, tt.syscall, hs.readCalls[tt.syscall], hs.receives(&o))
		}
	}
}
