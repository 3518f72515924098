package nodeapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// TestWaitsAreListedByCallSite: there are two call sites, and a stack names one of them.
func TestWaitsAreListedByCallSite(t *testing.T) {
	sync, _ := event.ByName("cudaStreamSynchronize")
	who := event.Thread{PID: 7, TID: 7}
	b := &store.Batch{
		Tables: store.Tables{
			Processes: []store.Process{{PID: 7, Name: "trainer", Traced: true}},
			Threads:   []store.ThreadInfo{{Thread: who, Comm: "trainer", Dispatch: true}},
		},
		Stacks: []event.Stack{{ID: 9, PID: 7, Frames: []event.Frame{
			{Kind: event.FrameNative, Addr: 0x710, Symbol: "wait", Module: "trainer"},
			{Kind: event.FrameNative, Addr: 0x999, Symbol: "step", Module: "trainer"},
		}}},
	}
	for i := range uint64(100) {
		c := event.Call{
			Start: 1_735_689_600e9 + i*10_000_000, Duration: 1_000_000, Thread: who, Op: sync.Op, GPU: event.NoGPU,
			Stack: 9,
		}
		c.Args[event.SiteArg] = 0x710
		if i%4 == 0 {
			c.Args[event.SiteArg], c.Duration, c.Stack = 0x720, 6_000_000, 0
		}
		b.Calls = append(b.Calls, c)
	}
	h := api(t, recordedOnce(t, b))
	read := func(h http.Handler, query string) (w wire.CallSites) {
		t.Helper()
		code, b := ask(t, h, "GET", nodeapi.Prefix+"call_sites?since=all"+query, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, b)
		}
		must(t, json.Unmarshal(b, &w))
		return w
	}
	got := read(h, "")
	if got.Total != 2 || len(got.Sites) != 2 || got.Unplaced != 0 {
		t.Fatalf("%+v", got)
	}
	first, second := got.Sites[0], got.Sites[1]
	if first.Site != "0x720" || first.Calls != 25 || first.TotalNS != 150_000_000 || first.MaxNS != 6_000_000 ||
		first.OpTotalNS != 225_000_000 || first.Place != "" || len(first.Callers) != 0 || first.Process != "trainer" {
		t.Errorf("first is %+v", first)
	}
	if second.Site != "0x710" || second.Calls != 75 || second.TotalNS != 75_000_000 || second.P99NS < 990_000 ||
		second.Place != "wait [trainer]" || len(second.Callers) > 0 {
		t.Errorf("second is %+v", second)
	}
	if one := read(h, "&limit=1"); one.Total != 2 || len(one.Sites) != 1 {
		t.Errorf("one of them: %+v", one)
	}
	if none := read(h, "&op=cudaLaunchKernel"); none.Total != 0 || none.Sites == nil || none.Unplaced != 0 {
		t.Errorf("of an operation that tells no place: %+v", none)
	}
	if old := read(api(t, "../../investigations/healthy.db"), ""); old.Total != 0 || old.Unplaced == 0 {
		t.Errorf("of an earlier recording: %+v", old)
	}
}
