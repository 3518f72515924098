package nodeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// lanesOf asks for lanes.
func lanesOf(t testing.TB, h http.Handler, query string) wire.Lanes {
	t.Helper()
	for before := uint64(0); ; {
		var l wire.Lanes
		code, b := ask(t, h, "GET", nodeapi.Prefix+"lanes?"+query, "")
		if code != http.StatusOK {
			t.Fatalf("lanes?%s: %d %s", query, code, b)
		}
		must(t, json.Unmarshal(b, &l))
		if l.ReadNS == before || l.ReadNS == 0 { // as far as the recording goes: an answer may be of what was read in time
			return l
		}
		before = l.ReadNS
	}
}

// sums adds up the time and number of calls by operation, and of waits by class.
func sums(l *wire.Lanes) map[string][2]int64 {
	out := map[string][2]int64{}
	add := func(name string, ns, n int64) { out[name] = [2]int64{out[name][0] + ns, out[name][1] + n} }
	for _, lane := range l.Lanes {
		if l.BucketNS > 0 {
			for i := 0; i < len(lane.Calls); i += 4 {
				add(l.Ops[lane.Calls[i+1]], lane.Calls[i+2], lane.Calls[i+3])
			}
			for i := 0; i < len(lane.Waits); i += 4 {
				add(l.Classes[lane.Waits[i+1]], lane.Waits[i+2], lane.Waits[i+3])
			}
			continue
		}
		for i := 0; i < len(lane.Calls); i += 6 {
			if c := lane.Calls[i : i+6]; c[3] == 0 {
				add(l.Ops[c[2]], c[5], c[4])
			}
		}
		for i := 0; i < len(lane.Waits); i += 3 {
			add(l.Classes[lane.Waits[i+2]], lane.Waits[i+1], 1)
		}
	}
	return out
}

// asked is the same from SQL.
func asked(t testing.TB, h http.Handler) map[string][2]int64 {
	t.Helper()
	const sql = `select op, sum(sum_ns), sum(calls) from op_seconds where nested = 0 group by op
		union all select class, sum(duration_ns - runq_ns), count(*) from off_cpu where duration_ns > runq_ns group by class
		union all select 'runq', sum(runq_ns), count(*) from off_cpu where runq_ns > 0 group by 1`
	body, err := json.Marshal(wire.Question{SQL: sql})
	must(t, err)
	code, b := ask(t, h, "POST", nodeapi.Prefix+"query", string(body))
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, b)
	}
	var answer struct {
		Rows [][]json.RawMessage `json:"rows"`
	}
	must(t, json.Unmarshal(b, &answer))
	out := map[string][2]int64{}
	for _, r := range answer.Rows {
		var name string
		var v [2]int64
		must(t, json.Unmarshal(r[0], &name))
		must(t, json.Unmarshal(r[1], &v[0]))
		must(t, json.Unmarshal(r[2], &v[1]))
		out[name] = [2]int64{out[name][0] + v[0], out[name][1] + v[1]}
	}
	return out
}

func made(t testing.TB, l storetest.Load, rate int) http.Handler {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	must(t, storetest.Build(path, l, sqlite.Options{RawRate: rate}))
	return api(t, path)
}

// TestLanesAddUpToAllCalls: of a thinned recording, too, they have as many calls, and as much
// time in them, as there was, and say that where they show it is an estimate.
func TestLanesAddUpToAllCalls(t *testing.T) {
	h := made(t, storetest.Load{Calls: 20_000, Threads: 3, Waits: true}, 5000)
	want := asked(t, h)
	if len(want) < 7 || want["cudaLaunchKernel"][1] < 10_000 {
		t.Fatalf("the recording holds too little: %v", want)
	}
	for _, q := range []string{
		"since=all&rows=0&buckets=1", "since=all&rows=0&buckets=7", "since=all&rows=0", "since=all&rows=0&buckets=4096",
		"since=all&rows=50000",
	} {
		l := lanesOf(t, h, q)
		if got := sums(&l); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", q, got, want)
		}
		if !strings.Contains(l.Estimate, "counted, not stored: their time is exact") {
			t.Errorf("%s: estimate %q", q, l.Estimate)
		}
		if l.BucketNS > 0 != (q != "since=all&rows=50000") || l.ReadNS != 0 || l.Total != 6 || len(l.Lanes) != 6 {
			t.Errorf("%s: buckets of %d ns, read up to %d, %d of %d lanes", q, l.BucketNS, l.ReadNS, len(l.Lanes), l.Total)
		}
	}
}

func TestLanesSayWhatIsEstimated(t *testing.T) {
	all := made(t, storetest.Load{Calls: 2000}, 1<<20)
	if l := lanesOf(t, all, "since=all"); l.Estimate != "" {
		t.Errorf("each call is stored, and %s", l.Estimate)
	}
	path := filepath.Join(t.TempDir(), "older.db")
	must(t, storetest.Build(path, storetest.Load{Calls: 20_000}, sqlite.Options{RawRate: 5000}))
	c, err := driver.OpenConn(path, driver.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, "update call set rest = null", nil))
	must(t, c.Close())
	if l := lanesOf(t, api(t, path), "since=all"); !strings.Contains(l.Estimate, "does not have their time") {
		t.Errorf("what calls took is not known, and %q", l.Estimate)
	}
}

// TestWindowsSideBySideAddUp asks for the recording in windows side by side, as a page that is
// scrolled does. They add up to the whole.
func TestWindowsSideBySideAddUp(t *testing.T) {
	h := made(t, storetest.Load{Calls: 20_000, Threads: 2, Waits: true}, 0)
	all := lanesOf(t, h, "since=all&rows=0&buckets=64")
	got := map[string][2]int64{}
	end := all.StartNS + uint64(all.Buckets)*all.BucketNS
	for at := all.StartNS; at < end; at += 4 * all.BucketNS {
		l := lanesOf(t, h, fmt.Sprintf("from=%d&to=%d&rows=0&buckets=4", at, at+4*all.BucketNS))
		if l.StartNS != at || l.BucketNS != all.BucketNS || l.Buckets != 4 {
			t.Fatalf("piece at %d has %d buckets of %d from %d", at, l.Buckets, l.BucketNS, l.StartNS)
		}
		for k, v := range sums(&l) {
			got[k] = [2]int64{got[k][0] + v[0], got[k][1] + v[1]}
		}
	}
	if want := sums(&all); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("pieces have %v, the whole %v", got, want)
	}
}

func TestSingleEventsInLanesIncludeEarlierBegins(t *testing.T) {
	h := made(t, storetest.Load{Calls: 2000, Waits: true}, 0)
	all := lanesOf(t, h, "since=all&rows=50000")
	if all.BucketNS != 0 {
		t.Fatal("not one by one")
	}
	for i, lane := range all.Lanes {
		for j := 0; j < len(lane.Waits); j += 300 {
			middle := all.StartNS + uint64(lane.Waits[j]+lane.Waits[j+1]/2)
			l := lanesOf(t, h, fmt.Sprintf("from=%d&to=%d", middle, middle+1))
			w := l.Lanes[i].Waits
			if len(w) != 3 || l.StartNS+uint64(w[0]) != all.StartNS+uint64(lane.Waits[j]) || w[1] != lane.Waits[j+1] ||
				w[2] != lane.Waits[j+2] {
				t.Errorf("lane %d: in the middle of %v there is %v", i, lane.Waits[j:j+3], w)
			}
		}
	}
}

func TestLanesAreSelected(t *testing.T) {
	h := made(t, storetest.Load{Calls: 2000, Threads: 3, Waits: true}, 0)
	for q, want := range map[string]string{
		"":                   "[4000 4001 4002 4100 4101 4102] of 6",
		"&pid=4100":          "[4100 4101 4102] of 3",
		"&process=loader":    "[4100 4101 4102] of 3",
		"&tid=4001":          "[4001] of 1",
		"&skip=1&limit=2":    "[4001 4002] of 6",
		"&skip=2000000000":   "[] of 6",
		"&tid=77":            "[] of 0",
		"&pid=4100&tid=4001": "[] of 0",
	} {
		l := lanesOf(t, h, "since=all"+q)
		tids := []uint32{}
		for _, x := range l.Lanes {
			tids = append(tids, x.TID)
		}
		if got := fmt.Sprintf("%v of %d", tids, l.Total); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	l := lanesOf(t, h, "since=all&tid=4100")
	if x := l.Lanes[0]; x.Process != "loader" || x.Thread != "loader-0" || x.Node != "host" || x.Rank != -1 {
		t.Errorf("%+v", x)
	}
	for _, q := range []string{
		"buckets=0", "buckets=4097", "buckets=x", "rows=-1", "rows=50001", "skip=-1",
		"skip=99999999999", "from=5&to=4",
	} {
		if code, b := ask(t, h, "GET", nodeapi.Prefix+"lanes?"+q, ""); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", q, code, b)
		}
	}
	for _, q := range []string{
		"from=1&to=9223372036854775807&rows=0&buckets=4096",
		"from=9223372036854775806&to=9223372036854775807", "from=1&to=2",
	} {
		lanesOf(t, h, q)
	}
}

// BenchmarkLanes asks for a tile of a recording of a million calls, which has been read.
func BenchmarkLanes(b *testing.B) {
	path := filepath.Join(b.TempDir(), "million.db")
	must(b, storetest.Build(path, storetest.Load{Calls: 1_000_000, Rate: 50_000, Threads: 4, Waits: true},
		sqlite.Options{RawRate: 1 << 20}))
	src := source.New(path)
	b.Cleanup(func() { src.Close() })
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			h := nodeapi.New(src, nodeapi.Options{})
			lanesOf(b, h, "since=all&rows=0")
		}
	})
	h := nodeapi.New(src, nodeapi.Options{})
	all := lanesOf(b, h, "since=all&rows=0")
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			lanesOf(b, h, "since=all&rows=0")
		}
	})
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			if l := lanesOf(b, h, fmt.Sprintf("from=%d&to=%d", all.StartNS+5e9, all.StartNS+5e9+5e7)); l.BucketNS != 0 {
				b.Fatalf("%d rows", l.Rows)
			}
		}
	})
}
