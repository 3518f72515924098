// Package export writes a recording in the formats of other tools: as a timeline for Perfetto or
// Chrome, as a profile for pprof, and as a table. It reads a recording row by row, so that a
// recording of any size can be exported, and uses no clock and no files.
package export

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Source is what is exported of a store.Recording.
type Source interface {
	Summary(ctx context.Context) (store.Summary, error)
	store.TableReader
	OffCPU(ctx context.Context, w store.Window, visit func(*event.OffCPU) bool) error
	Stack(ctx context.Context, id uint64) (event.Stack, error)
	Close() error
	Calls(ctx context.Context, w store.Window, visit func(*event.Call) bool) error
}

// Options select what is exported. The zero value means all.
type Options struct {
	Window store.Window
	// Report has the findings to mark on a timeline; nil marks none.
	Report *report.Report
	// Progress, if not nil, is called now and then with the number of rows read.
	Progress func(rows uint64)
}

// Format is an export format. It has either Write or Table.
type Format struct {
	Name   string
	Suffix string // of its files' names
	Doc    string // programs that open it
	// Findings says that it marks the findings of Options.Report.
	Findings bool
	// Write writes the recording as a picture.
	Write func(ctx context.Context, w io.Writer, src Source, o Options) error
	// Table writes the rows of its events view.
	Table func(w io.Writer, rows Rows) error
}

// Formats lists the formats. A new one is one file and one line here.
var Formats = []Format{
	{
		Name: "perfetto", Suffix: ".pftrace", Doc: "a timeline for ui.perfetto.dev (native protobuf)", Findings: true,
		Write: Perfetto,
	},
	{
		Name: "chrome", Suffix: ".json", Doc: "a timeline for chrome://tracing, Perfetto and others (JSON)", Findings: true,
		Write: Chrome,
	},
	{
		Name: "pprof", Suffix: ".pb.gz", Doc: "where in the code calls and waits took their time, for go tool pprof",
		Write: Pprof,
	},
	{
		Name: "csv", Suffix: ".csv",
		Doc: "every call and host event, a row each (any other table: ingero query --format csv)", Table: CSV,
	},
	{
		Name: "parquet", Suffix: ".parquet", Doc: "the same rows for pandas, Polars, DuckDB and others, a tenth of the size",
		Table: Parquet,
	},
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

// progressStep is the number of rows between two progress calls.
const progressStep = 1 << 16

// rows counts rows read.
type rows struct {
	n    uint64
	tell func(uint64)
}

func (r *rows) countRow() {
	if r.n++; r.n%progressStep == 0 && r.tell != nil {
		r.tell(r.n)
	}
}
