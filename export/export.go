// Package export writes a recording in the formats of other tools: as a timeline
// for Perfetto or Chrome, and as a profile for pprof. It reads a recording row by
// row, so that the size of one does not matter, and knows no clock and no files.
package export

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// Source is what is exported. Recordings of store/sqlite are sources.
type Source interface {
	store.Reader
	Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// Options say what of it. The zero value is all.
type Options struct {
	Window store.Window
	// Report has the findings to be marked on a timeline; nil marks none.
	Report *report.Report
	// Progress, if not nil, is told now and then how many rows were read.
	Progress func(rows uint64)
}

// Format is a way of writing a recording.
type Format struct {
	Name   string
	Suffix string // of its files' names
	Doc    string // what opens it
	Write  func(ctx context.Context, w io.Writer, src Source, o Options) error
}

// Formats lists them. A new one is one file and one line here.
var Formats = []Format{
	{"perfetto", ".pftrace", "a timeline for ui.perfetto.dev (native protobuf)", Perfetto},
	{"chrome", ".json", "a timeline for chrome://tracing, Perfetto and others (JSON)", Chrome},
	{"pprof", ".pb.gz", "where in the code calls and waits took their time, for go tool pprof", Pprof},
}

// Find returns the format with a name.
func Find(name string) (*Format, error) {
	var names []string
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i], nil
		}
		names = append(names, Formats[i].Name)
	}
	return nil, fmt.Errorf("there is no format %q; choose one of %s", name, strings.Join(names, ", "))
}

// progressStep is after how many rows progress is told.
const progressStep = 1 << 16

// rows counts rows read.
type rows struct {
	n    uint64
	tell func(uint64)
}

func (r *rows) add() {
	if r.n++; r.n%progressStep == 0 && r.tell != nil {
		r.tell(r.n)
	}
}
