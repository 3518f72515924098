package nodeapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// TestWaitsAddUpToWhatIsStored compares with SQL, of all and of one operation.
func TestWaitsAddUpToWhatIsStored(t *testing.T) {
	h := made(t, storetest.Load{Calls: 8000, Threads: 2, Waits: true}, 0)
	want := asked(t, h)
	read := func(query string) (w wire.Waits) {
		t.Helper()
		code, b := ask(t, h, "GET", nodeapi.Prefix+"waits?since=all"+query, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, b)
		}
		must(t, json.Unmarshal(b, &w))
		return w
	}
	got := map[string][2]int64{}
	before := ^uint64(0)
	all := read("")
	for _, w := range all.Waits {
		got[w.Class] = [2]int64{got[w.Class][0] + int64(w.TotalNS), got[w.Class][1] + int64(w.Waits)}
		if w.TotalNS > before {
			t.Errorf("%v is behind one of %d ns", w, before)
		}
		before = w.TotalNS
	}
	for _, class := range []string{"ioctl", "futex", "runq", "block_io"} {
		if got[class] != want[class] || got[class][1] == 0 {
			t.Errorf("%s: %v, want %v", class, got[class], want[class])
		}
	}
	if len(all.Waits) != all.Total {
		t.Errorf("%d of %d", len(all.Waits), all.Total)
	}
	one := read("&op=cudaStreamSynchronize&limit=1")
	if len(one.Waits) != 1 || one.Waits[0].Op != "cudaStreamSynchronize" || one.Total < 2 ||
		one.Waits[0].Process != "trainer" {
		t.Errorf("%+v", one)
	}
}
