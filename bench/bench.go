// Package bench measures what Ingero costs and whether it is exact, on the machine it runs on.
// Every figure is a ratio or a difference within one run, taken from alternating rounds with and
// without the tracer, because absolute times of one machine say little about another.
//
// A measurement is one file and one line in All. The product itself is measured: the programs in
// the kernel, "ingero trace" as its own process, and its recordings. The package prints nothing and
// judges no diagnosis.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// Group is what a measurement is about.
type Group string

// The groups.
const (
	Overhead Group = "overhead" // the cost for traced and untraced programs
	Store    Group = "store"    // recordings: writing, size, reading
)

// Measurement is one thing that can be measured.
type Measurement struct {
	Name  string
	Group Group
	About string // one sentence
	// Fetches describes what is downloaded if it is not in the cache. Such a measurement runs only
	// if it is asked for by name.
	Fetches string
	run     func(ctx context.Context, l *lab) ([]Row, error)
}

// All lists the measurements in the order they run.
var All = []Measurement{
	{Name: "call", Group: Overhead, About: "CPU time added to a call, against programs that do nothing", run: measureCall},
	{Name: "loop", Group: Overhead, About: "training steps a second with and without the tracer", run: measureLoop},
	{
		Name: "stack", Group: Overhead, About: "what stacks cost, and --stack=slow and all against off in a training loop",
		run: measureStack,
	},
	{
		Name: "tracer", Group: Overhead, About: "what the tracer itself uses while it records 20,000 calls a second",
		run: measureTracer,
	},
	{
		Name: "exact", Group: Overhead, About: "calls made against calls recorded, and durations against the caller's clock",
		run: measureExact,
	},
	{
		Name: "bystander", Group: Overhead,
		About: "CPU time added to switches and system calls of programs that are not traced", run: measureBystander,
	},
	{
		Name: "llama", Group: Overhead, About: "tokens a second of llama.cpp with and without the tracer",
		Fetches: "llama.cpp, 320 MB", run: measureLlama,
	},
	{
		Name: "explain", Group: Store, About: "time and memory to explain a recording of a million calls",
		run: measureExplain,
	},
	{
		Name: "compare", Group: Store, About: "time and memory to compare two recordings of ten million calls",
		run: measureCompare,
	},
	{
		Name: "mcp", Group: Store, About: "how soon an AI agent is answered about a recording of ten million calls",
		run: measureMCP,
	},
	{
		Name: "export", Group: Store,
		About: "memory to export a recording of ten million calls, each stored, in every format", run: measureExport,
	},
	{Name: "insert", Group: Store, About: "CPU time and bytes to store a call", run: measureInsert},
}

// Options say how to measure.
type Options struct {
	Quick    bool             // fewer and shorter rounds: minutes become seconds, errors grow
	Perf     bool             // also the perf back end, which takes seconds to detach
	Ingero   string           // the program to measure
	Progress func(say string) // called with what is being done; may be nil
}

// Report is what was measured. Fields are only ever added.
type Report struct {
	Schema int    `json:"schema"`
	Quick  bool   `json:"quick"`
	Kernel string `json:"kernel"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Rows   []Row  `json:"rows"`
}

// Select finds the measurements of a group that fetch nothing, or those with the given names.
func Select(g Group, names ...string) ([]Measurement, error) {
	var all []string
	var chosen []Measurement
	for _, m := range All {
		if m.Group != g {
			continue
		}
		all = append(all, m.Name)
		if len(names) == 0 && m.Fetches == "" || slices.Contains(names, m.Name) {
			chosen = append(chosen, m)
		}
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("there is no measurement %q in %s; there are %s", n, g, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// Run runs measurements. If there is an error, the report has the rows before it.
func Run(ctx context.Context, measurements []Measurement, o Options) (*Report, error) {
	r := &Report{Schema: 1, Quick: o.Quick, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Rows: []Row{}}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if _, err := os.Stat(o.Ingero); err != nil {
		return r, fmt.Errorf("find the program to measure: %w; make build builds it", err)
	}
	l, err := newLab(o)
	if err != nil {
		return r, err
	}
	defer l.close()
	for _, m := range measurements {
		rows, err := m.run(ctx, l)
		for i := range rows {
			rows[i].Measurement = m.Name
		}
		r.Rows = append(r.Rows, rows...)
		if err != nil {
			return r, fmt.Errorf("measure %s: %w", m.Name, err)
		}
	}
	return r, nil
}

// lab is what the measurements share.
type lab struct {
	opts   Options
	dir    string // for recordings; removed at the end
	files  cudastub.Files
	number int // of the last recording
}

func newLab(o Options) (*lab, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	dir, err := os.MkdirTemp("", "ingero-bench-")
	if err != nil {
		return nil, fmt.Errorf("make folder for recordings: %w", err)
	}
	l := &lab{opts: o, dir: dir}
	if l.files, err = cudastub.Extract(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return l, nil
}

func (l *lab) close() {
	_ = os.RemoveAll(l.dir) // a temporary folder: the system clears what is left
}

func (l *lab) say(format string, args ...any) { l.opts.Progress(fmt.Sprintf(format, args...)) }

// pick chooses the quick or the full value.
func pick[T any](l *lab, quick, full T) T {
	if l.opts.Quick {
		return quick
	}
	return full
}
