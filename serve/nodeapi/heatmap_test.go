package nodeapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func heatmapOf(t *testing.T, h http.Handler, query string) (m wire.Heatmap) {
	t.Helper()
	code, b := ask(t, h, "GET", nodeapi.Prefix+"heatmap?"+query, "")
	if code != http.StatusOK {
		t.Fatalf("heatmap?%s: %d %s", query, code, b)
	}
	must(t, json.Unmarshal(b, &m))
	return m
}

// TestHeatmapCountsEachCallWhereItBelongs compares with the stored rows, both where calls
// are read and where the statistics of seconds are.
func TestHeatmapCountsEachCallWhereItBelongs(t *testing.T) {
	for _, c := range []struct {
		rate  int // calls a second
		exact bool
	}{{20_000, false}, {200, true}} {
		h := made(t, storetest.Load{Calls: 8000, Threads: 2, Rate: c.rate}, 1<<20)
		whole := lanesOf(t, h, "since=all&rows=50000")
		const op = "cudaStreamSynchronize"
		m := heatmapOf(t, h, "since=all&op="+op+"&columns=50")
		if m.Exact != c.exact || m.Op != op || m.Columns > 50 || m.Columns < 20 {
			t.Fatalf("at %d a second: exact %v, %s, %d columns", c.rate, m.Exact, m.Op, m.Columns)
		}
		want := map[[2]uint64]uint64{}
		calls := uint64(0)
		for _, lane := range whole.Lanes {
			for i := 0; i < len(lane.Calls); i += 6 {
				if whole.Ops[lane.Calls[i+2]] != op {
					continue
				}
				at := whole.StartNS + uint64(lane.Calls[i])
				row := uint64(math.Ceil(4*math.Log2(float64(lane.Calls[i+1])) - 1e-9))
				want[[2]uint64{(at - m.StartNS) / m.ColumnNS, row}]++
				calls++
			}
		}
		got := map[[2]uint64]uint64{}
		for i := 0; i < len(m.Cells); i += 3 {
			got[[2]uint64{m.Cells[i], m.Cells[i+1]}] = m.Cells[i+2]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || m.Calls != calls || calls < 300 {
			t.Errorf("at %d a second: %d calls %v\nwant %d %v", c.rate, m.Calls, got, calls, want)
		}
	}
}

func TestHeatmapIsOfTheSelectedCalls(t *testing.T) {
	h := made(t, storetest.Load{Calls: 2000, Threads: 2}, 0)
	m := heatmapOf(t, h, "since=all")
	if m.Op != "cudaStreamSynchronize" || len(m.Ops) != 3 || m.Ops[0] != m.Op {
		t.Errorf("%s of %v is not what took most time", m.Op, m.Ops)
	}
	one, other := heatmapOf(t, h, "since=all&tid=4000"), heatmapOf(t, h, "since=all&tid=4001")
	if one.Calls == 0 || one.Calls+other.Calls != m.Calls {
		t.Errorf("%d and %d calls of threads, %d of all", one.Calls, other.Calls, m.Calls)
	}
	if m := heatmapOf(t, h, "since=all&op=ncclAllReduce"); m.Calls != 0 || len(m.Cells) != 0 || m.Op != "ncclAllReduce" {
		t.Errorf("of an operation that was not called: %+v", m)
	}
	for _, q := range []string{"from=1&to=2", "from=1&to=9223372036854775807", "since=all&columns=1"} {
		heatmapOf(t, h, q)
	}
	for _, q := range []string{"op=nosuch", "columns=0", "columns=2001"} {
		if code, b := ask(t, h, "GET", nodeapi.Prefix+"heatmap?"+q, ""); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", q, code, b)
		}
	}
}
