package nodeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// TestTheLongestLabelsAreTold: all, unless they are more than were asked for.
func TestTheLongestLabelsAreTold(t *testing.T) {
	const begin = uint64(1_735_689_600e9)
	launch, _ := event.ByName("cudaLaunchKernel")
	set := func(at uint64, key, value string) event.Label {
		return event.Label{Arrived: begin + at, Since: begin + at, PID: 7, StartTime: 1, Key: key, Value: value}
	}
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 7, Name: "trainer", Traced: true}},
		Labels:    []event.Label{set(0, "epoch", "1"), set(800, "epoch", "2"), set(1000, "epoch", "")},
	}}
	b.Calls = []event.Call{{Start: begin, Duration: 2000, Thread: event.Thread{PID: 7, TID: 7}, Op: launch.Op}}
	for i := range uint64(10) {
		b.Labels = append(b.Labels, set(i*100, "step", fmt.Sprint(i)))
	}
	b.Labels = append(b.Labels, set(1000, "step", ""))
	h := api(t, recordedOnce(t, b))
	read := func(query string) (w wire.Labels) {
		t.Helper()
		code, b := ask(t, h, "GET", nodeapi.Prefix+"labels?since=all"+query, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, b)
		}
		must(t, json.Unmarshal(b, &w))
		return w
	}
	if got := read(""); got.Total != 12 || len(got.Labels) != 12 || got.Labels[11].Value != "9" {
		t.Errorf("all: %+v", got)
	}
	two := read("&limit=2")
	if two.Total != 12 || len(two.Labels) != 2 {
		t.Fatalf("two: %+v", two)
	}
	two.Labels[0].Node = ""
	if d := cmp.Diff(wire.Label{PID: 7, Key: "epoch", Value: "1", StartNS: begin, DurationNS: 800}, two.Labels[0]); d != "" {
		t.Errorf("the longest (-want +got):\n%s", d)
	}
	if none := read("&from=1735689700"); none.Total != 0 || none.Labels == nil {
		t.Errorf("none: %+v", none)
	}
}
