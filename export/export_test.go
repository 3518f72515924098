package export_test

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// recording is a committed recording, what is found in it, and how to ask it.
type recording struct {
	t    *testing.T
	path string
	store.Recording
	report *report.Report
}

func recordings(t *testing.T) map[string]*recording {
	t.Helper()
	files, err := filepath.Glob("../investigations/*.db")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string]*recording{}
	for _, path := range files {
		r, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		in, err := diagnose.Load(t.Context(), r, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".db")] = &recording{t, path, r, diagnose.Diagnose(in)}
	}
	return all
}

// sums asks for rows of a name and two numbers.
func (r *recording) sums(sql string) map[string][2]int64 {
	r.t.Helper()
	rows, err := sqlite.Query(r.t.Context(), r.path, sql, store.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	out := map[string][2]int64{}
	for rows.Next() {
		v := rows.Values()
		out[v[0].(string)] = [2]int64{v[1].(int64), v[2].(int64)}
	}
	if rows.Err() != nil {
		r.t.Fatal(rows.Err())
	}
	return out
}

// What a timeline has to show, by SQL on the same file.
const (
	callSums = "select op, count(*), sum(duration_ns) from cuda_events where stored group by op"
	// of all calls, also those that were only counted
	allCallSums = "select op, count(*), sum(duration_ns) from cuda_events group by op"
	waitSums    = `select class, count(*), sum(ns) from (
		select class, duration_ns - min(runq_ns, duration_ns) as ns from off_cpu where duration_ns > runq_ns
		union all select 'runq', min(runq_ns, duration_ns) from off_cpu where runq_ns > 0 and class <> 'throttled'
		union all select 'throttled', min(runq_ns, duration_ns) from off_cpu where runq_ns > 0 and class = 'throttled')
		group by class`
)

func (r *recording) write(f *export.Format, w store.Window) []byte {
	r.t.Helper()
	var b bytes.Buffer
	if err := f.Write(r.t.Context(), &b, r.Recording, export.Options{Window: w, Report: r.report}); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes()
}

func format(t *testing.T, name string) *export.Format {
	t.Helper()
	f, err := export.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compare holds slices of a timeline against sums by SQL. Those without a duration
// only end an arrow.
func compare(t *testing.T, what string, got map[string][2]int64, want map[string][2]int64) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: the recording has none", what)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s %s: %d of %d ns, want %d of %d ns", what, name, got[name][0], got[name][1], w[0], w[1])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s %s is not in the recording", what, name)
		}
	}
}

func TestChromeExportHasTheWholeRecording(t *testing.T) {
	for name, r := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			var file struct {
				Other  map[string]string `json:"otherData"`
				Events []struct {
					Name, Ph, Cat, S string
					TS, Dur          json.Number
					PID, TID         uint32
					ID               uint64
					Args             map[string]any
				} `json:"traceEvents"`
			}
			d := json.NewDecoder(bytes.NewReader(r.write(format(t, "chrome"), store.Window{})))
			d.UseNumber()
			if err := d.Decode(&file); err != nil {
				t.Fatal(err)
			}
			calls, waits := map[string][2]int64{}, map[string][2]int64{}
			begun, ended, findings := map[uint64]int{}, map[uint64]int{}, 0
			for _, e := range file.Events {
				switch {
				case e.Ph == "X" && e.Cat == "off_cpu" && nanos(t, e.Dur) > 0:
					add(waits, e.Name, nanos(t, e.Dur))
				case e.Ph == "X" && e.Cat != "off_cpu":
					add(calls, e.Name, nanos(t, e.Dur))
					if id, _ := e.Args["id"].(string); !strings.HasSuffix(id,
						":"+strconv.FormatInt(base(t, file.Other)+nanos(t, e.TS), 10)) {
						t.Fatalf("id %q at %s", id, e.TS)
					}
				case e.Ph == "s":
					begun[e.ID]++
				case e.Ph == "f":
					ended[e.ID]++
				case e.Ph == "i" && e.S == "g":
					findings++
				}
			}
			compare(t, "calls", calls, r.sums(callSums))
			compare(t, "waits", waits, r.sums(waitSums))
			for id, n := range ended {
				if n != 1 || begun[id] != 1 {
					t.Fatalf("arrow %d begins %d times and ends %d times", id, begun[id], n)
				}
			}
			if len(ended) == 0 || len(begun) != len(ended) || findings != len(r.report.Chains) {
				t.Errorf("%d arrows begin, %d end; %d findings of %d", len(begun), len(ended), findings, len(r.report.Chains))
			}
		})
	}
}

func base(t *testing.T, other map[string]string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(other["began_unix_ns"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func add(m map[string][2]int64, name string, ns int64) {
	m[name] = [2]int64{m[name][0] + 1, m[name][1] + ns}
}

// nanos reads microseconds with three decimals.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, part, ok := strings.Cut(n.String(), ".")
	v, err := strconv.ParseInt(whole+part, 10, 64)
	if !ok || len(part) != 3 || err != nil {
		t.Fatalf("%q is not in microseconds with three decimals", n)
	}
	return v
}

func TestPprofExportHasTheWholeRecording(t *testing.T) {
	for name, r := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			p, err := profile.ParseData(r.write(format(t, "pprof"), store.Window{}))
			if err != nil {
				t.Fatal(err)
			}
			calls, waits := map[string][2]int64{}, map[string][2]int64{}
			for _, s := range p.Sample {
				leaf := s.Location[0].Line[0].Function.Name
				if s.Value[0] > 0 {
					v := calls[leaf]
					calls[leaf] = [2]int64{v[0] + s.Value[0], v[1] + s.Value[1]}
				}
				if s.Value[2] > 0 {
					class := strings.Trim(leaf, "[]")
					v := waits[class]
					waits[class] = [2]int64{v[0] + s.Value[2], v[1] + s.Value[3]}
				}
			}
			compare(t, "calls", calls, r.sums(allCallSums))
			want := r.sums(strings.ReplaceAll(waitSums, "'throttled', min", "'runq', min"))
			compare(t, "waits", waits, want)
		})
	}
}

// A window leaves out what is not in it.
func TestOnlyTheWindowIsExported(t *testing.T) {
	r := recordings(t)["lock-through-disk"]
	sum, err := r.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mid := (sum.First + sum.Last) / 2
	win := store.Window{From: sum.First, To: mid}
	p, err := profile.ParseData(r.write(format(t, "pprof"), win))
	if err != nil {
		t.Fatal(err)
	}
	var calls, want int64
	for _, s := range p.Sample {
		calls += s.Value[0]
	}
	err = r.Calls(t.Context(), store.Window{}, func(c *event.Call) bool {
		if c.Start < mid {
			want += int64(max(c.Weight, 1))
		}
		return true
	})
	if err != nil || want == 0 || calls != want {
		t.Errorf("%d calls in the first half, want %d (%v)", calls, want, err)
	}
	if math.Abs(float64(p.DurationNanos)-float64(mid-sum.First)) > 1 {
		t.Errorf("the profile covers %d ns, want %d", p.DurationNanos, mid-sum.First)
	}
}

func TestUnknownFormatsAreRefused(t *testing.T) {
	if _, err := export.Find("svg"); err == nil || !strings.Contains(err.Error(), "perfetto") {
		t.Errorf("error is %v, want one that lists the formats", err)
	}
}
