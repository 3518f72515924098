package realtest

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/doctable"
)

var update = flag.Bool("update-coverage", false, "add what programs called to testdata/called.txt")

// cuda matches functions of the CUDA runtime, the driver and NCCL, and not those of libraries
// such as cuBLAS.
var cuda = regexp.MustCompile(`^(__cuda|cuda|cu[A-Z]|nccl)`)

// row is a program's row of the table.
type row struct {
	program  string
	traced   int      // operations of the catalogue that it called
	untraced []string // functions that it called, in order
}

func (r *row) String() string {
	return fmt.Sprintf("| %s | %d | `%s` |\n", r.program, r.traced, strings.Join(r.untraced, "`, `"))
}

// parse reads a row of the table.
func parse(line string) (r row, ok bool) {
	cells := strings.Split(line, "|")
	if len(cells) != 5 {
		return r, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(cells[2]))
	r = row{program: strings.TrimSpace(cells[1]), traced: n}
	for name := range strings.SplitSeq(strings.TrimSpace(cells[3]), ", ") {
		if name = strings.Trim(name, "`"); name != "" {
			r.untraced = append(r.untraced, name)
		}
	}
	return r, err == nil
}

// classify splits the functions that a program called into traced operations and functions that are
// not traced. It is an error if one of the latter has no known reason, or matters.
func classify(program string, called map[string]uint64) (r row, errs []error) {
	ops := map[event.Op]bool{}
	r.program = program
	for name := range called {
		if called[name] == 0 || !cuda.MatchString(name) {
			continue
		}
		if i, ok := event.BySymbol(name); ok {
			ops[i.Op] = true
			continue
		}
		why, known := event.WhyUntraced(name)
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%s calls %s %d times: it is not traced, and event/untraced.go does not say why",
				program, name, called[name]))
		case why.Matters:
			errs = append(errs, fmt.Errorf("%s calls %s %d times: it is not traced, and it matters: %s",
				program, name, called[name], why.Why))
		}
		r.untraced = append(r.untraced, name)
	}
	r.traced = len(ops)
	slices.Sort(r.untraced)
	return r, errs
}

// Covered checks that each function of CUDA and NCCL that a program called is traced, or that there
// is a reason why not. testdata/called.txt must say so in the program's row. called has the counts by
// function.
func Covered(t *testing.T, program string, called map[string]uint64) {
	t.Helper()
	got, errs := classify(program, called)
	for _, err := range errs {
		t.Error(err)
	}
	_, here, _, _ := runtime.Caller(0)
	page := filepath.Join(filepath.Dir(here), "testdata/called.txt")
	doc, err := doctable.Read(page, "what real programs call, written by internal/real")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(doc.Text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool {
		r, ok := parse(l)
		return ok && r.program == program
	})
	var said row
	if at >= 0 {
		said, _ = parse(lines[at])
	}
	more := slices.DeleteFunc(slices.Clone(got.untraced), func(f string) bool { return slices.Contains(said.untraced, f) })
	if len(more) == 0 && got.traced <= said.traced {
		return
	}
	if !*update {
		t.Errorf("%s: testdata/called.txt lacks that it calls %d traced operations and %v; -update-coverage if this is meant",
			program, got.traced, more)
		return
	}
	said.program, said.traced = program, max(said.traced, got.traced)
	said.untraced = append(said.untraced, more...)
	slices.Sort(said.untraced)
	if at >= 0 {
		lines[at] = said.String()
	} else {
		lines = append(lines, said.String())
	}
	doc.Text = strings.Join(lines, "")
	if err := doc.Write(); err != nil {
		t.Fatal(err)
	}
}
