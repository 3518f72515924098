package export_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ingero-io/ingero/store"
)

// fields reads the fields of a message: numbers as they are, the rest as bytes.
func fields(t *testing.T, b []byte, visit func(f protowire.Number, n uint64, b []byte)) {
	t.Helper()
	for len(b) > 0 {
		f, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v uint64
		var part []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		default:
			part, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		visit(f, v, part)
		b = b[n:]
	}
}

// interned is a number of a string, in the sequence of packets that gave it.
type interned struct{ sequence, id uint64 }

// open is a track's open slice.
type open struct {
	name, category interned
	at             uint64
}

// sliceSums sums the slices of a trace, by category and name. A lane's slices do not
// nest deeper than calls do.
func sliceSums(t *testing.T, trace []byte) map[string]map[string][2]int64 {
	t.Helper()
	names, categories := map[interned]string{}, map[interned]string{}
	stacks := map[uint64][]open{}
	sums := map[string]map[string][2]int64{}
	fields(t, trace, func(_ protowire.Number, _ uint64, packet []byte) {
		var at, kind, track, sequence uint64
		var o open
		fields(t, packet, func(f protowire.Number, n uint64, b []byte) {
			switch f {
			case 8:
				at = n
			case 10: // before all that needs it
				sequence = n
			case 12: // interned data
				fields(t, b, func(f protowire.Number, _ uint64, b []byte) {
					var id uint64
					var s string
					fields(t, b, func(f protowire.Number, n uint64, b []byte) {
						if f == 1 {
							id = n
						} else {
							s = string(b)
						}
					})
					switch f {
					case 1:
						categories[interned{sequence, id}] = s
					case 2:
						names[interned{sequence, id}] = s
					}
				})
			case 11: // track event
				fields(t, b, func(f protowire.Number, n uint64, _ []byte) {
					switch f {
					case 3:
						o.category = interned{sequence, n}
					case 9:
						kind = n
					case 10:
						o.name = interned{sequence, n}
					case 11:
						track = n
					}
				})
			}
		})
		o.at = at
		switch kind {
		case 1:
			stacks[track] = append(stacks[track], o)
		case 2: // written right after its begin
			s := stacks[track]
			b := s[len(s)-1]
			stacks[track] = s[:len(s)-1]
			by := sums[categories[b.category]]
			if by == nil {
				by = map[string][2]int64{}
				sums[categories[b.category]] = by
			}
			if ns := int64(at - b.at); ns > 0 || categories[b.category] != "off_cpu" {
				add(by, names[b.name], ns)
			}
		}
	})
	for track, s := range stacks {
		if len(s) != 0 {
			t.Errorf("%d slices of track %d do not end", len(s), track)
		}
	}
	return sums
}

func TestPerfettoExportHasTheWholeRecording(t *testing.T) {
	for name, r := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			sums := sliceSums(t, r.write(format(t, "perfetto"), store.Window{}))
			compare(t, "waits", sums["off_cpu"], r.sums(waitSums))
			calls := map[string][2]int64{}
			for category, by := range sums {
				for name, v := range by {
					if category != "off_cpu" {
						calls[name] = v
					}
				}
			}
			compare(t, "calls", calls, r.sums(callSums))
		})
	}
}

// traceProcessorEnv says that Perfetto's own trace processor was installed, and is
// to be asked: make test-perfetto.
const traceProcessorEnv = "INGERO_TRACE_PROCESSOR"

// ask asks Perfetto's trace processor.
func ask(t *testing.T, trace string, statements ...string) [][]map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node",
		append([]string{"testdata/traceprocessor/query.mjs", trace}, statements...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]map[string]any
	for _, line := range splitLines(out) {
		var rows []map[string]any
		if err := json.Unmarshal(line, &rows); err != nil {
			t.Fatalf("%v in %.200q", err, line)
		}
		all = append(all, rows)
	}
	if len(all) != len(statements) {
		t.Fatalf("%d answers to %d questions", len(all), len(statements))
	}
	return all
}

func splitLines(b []byte) (lines [][]byte) {
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && b[j] != '\n' {
			j++
		}
		lines = append(lines, b[i:j])
		i = j + 1
	}
	return lines
}

func TestTraceProcessorReadsWhatIsWritten(t *testing.T) {
	if os.Getenv(traceProcessorEnv) == "" {
		t.Skip(traceProcessorEnv + " is not set: make test-perfetto installs Perfetto's trace processor and asks it")
	}
	const (
		errors = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
		calls  = "select name, count(*) as n, sum(dur) as ns from slice where category not in ('off_cpu', 'wake') and " +
			"category not glob 'finding_*' group by name"
		waits = "select name, count(*) as n, " +
			"sum(dur) as ns from slice where category = 'off_cpu' and dur > 0 group by name"
		arrows = "select count(*) as n, sum(o.ts <= i.ts) as forward from flow f join slice o on f.slice_out = o.id " +
			"join slice i on f.slice_in = i.id"
		findings = "select count(*) as n from slice s join track t on t.id = s.track_id where t.name = 'Findings'"
		counters = "select t.name as name, count(*) as n, cast(round(sum(c.value)) as int) as ns from counter c join " +
			"counter_track t on t.id = c.track_id where t.name = 'CPU' group by 1"
		threads = "select count(*) as n from slice s left join thread_track t on t.id = s.track_id left join thread " +
			"using (utid) where s.category = 'CUDA' and tid is null"
		ids = "select count(*) as n from slice s join args a using (arg_set_id) where s.category = 'CUDA' and a.key " +
			"= 'debug.id' and a.string_value not glob '*:' || s.ts"
	)
	all := recordings(t)
	for name, formats := range map[string][]string{
		"lock-through-disk": {"perfetto", "chrome"}, "graph-recapture": {"perfetto"}, "memory-leak": {"perfetto"},
	} {
		t.Run(name, func(t *testing.T) {
			r := all[name]
			for _, f := range formats {
				path := filepath.Join(t.TempDir(), f)
				if err := os.WriteFile(path, r.write(format(t, f), store.Window{}), 0o600); err != nil {
					t.Fatal(err)
				}
				a := ask(t, path, errors, calls, waits, arrows, findings, counters, threads, ids)
				for _, e := range a[0] {
					t.Errorf("%s: the trace processor counts %v %v", f, e["value"], e["name"])
				}
				compare(t, f+" calls", table(t, a[1]), r.sums(callSums))
				compare(t, f+" waits", table(t, a[2]), r.sums(waitSums))
				if n, forward := integer(t, a[3][0]["n"]), integer(t, a[3][0]["forward"]); n == 0 || n != forward {
					t.Errorf("%s: %d of %d arrows go forward in time", f, forward, n)
				}
				if f == "chrome" {
					continue
				}
				if n := integer(t, a[4][0]["n"]); n != int64(len(r.report.Chains)) {
					t.Errorf("%d findings of %d", n, len(r.report.Chains))
				}
				compare(t, "counters", table(t, a[5]),
					r.sums("select 'CPU', count(*), cast(round(sum(cpu_pct)) as int) from system_snapshots"))
				if n := integer(t, a[6][0]["n"]); n != 0 {
					t.Errorf("%d calls are on no thread", n)
				}
				if n := integer(t, a[7][0]["n"]); n != 0 {
					t.Errorf("the ids of %d calls are not those of the recording", n)
				}
			}
		})
	}
}

func table(t *testing.T, rows []map[string]any) map[string][2]int64 {
	t.Helper()
	out := map[string][2]int64{}
	for _, r := range rows {
		out[fmt.Sprint(r["name"])] = [2]int64{integer(t, r["n"]), integer(t, r["ns"])}
	}
	return out
}

// integer reads what the trace processor answers: large numbers come as text.
func integer(t *testing.T, v any) int64 {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return int64(v)
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			return n
		}
	}
	t.Fatalf("%v is not a number", v)
	return 0
}
