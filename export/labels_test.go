package export_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// labelledRecording has labels that were set one after the other, and spans that overlap.
func labelledRecording(t *testing.T) *sqlite.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{
		Session: store.Session{Node: "n", Started: madeStart},
		Now:     func() time.Time { return time.Unix(0, int64(madeStart)+5000) },
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(from, until uint64, key, value string) event.Label {
		l := event.Label{
			Arrived: madeStart + from, Since: madeStart + from, PID: madePID, StartTime: 1, Key: key, Value: value,
		}
		if until > 0 {
			l.Until = madeStart + until
		}
		return l
	}
	launch, _ := event.ByName("cudaLaunchKernel")
	err = w.Write(&store.Batch{Tables: store.Tables{
		Records: event.Records{Calls: []event.Call{{
			Start: madeStart, Duration: 5000, Thread: event.Thread{PID: madePID, TID: madePID}, Op: launch.Op, GPU: event.NoGPU,
		}}},
		Labels: []event.Label{
			at(1000, 0, "step", "1"), at(2000, 0, "step", "2"), at(4000, 0, "step", ""), at(1500, 0, "epoch", "\u2028"),
			at(1000, 3000, "task_id", "a"), at(2000, 4000, "task_id", "b"), at(3000, 3500, "task_id", "c"),
		},
	}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestLabelsAreOnTracksOfTheirProcess(t *testing.T) {
	t.Parallel()
	r := labelledRecording(t)
	want := map[string][2]int64{
		"step 1": {1, 1000}, "step 2": {1, 2000}, "epoch \u2028": {1, 3500},
		"task_id a": {1, 2000}, "task_id b": {1, 2000}, "task_id c": {1, 500},
	}
	var b bytes.Buffer
	if err := export.Perfetto(t.Context(), &b, r, export.Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, sliceSums(t, b.Bytes())["label"]); d != "" {
		t.Errorf("Perfetto (-want +got):\n%s", d)
	}
	for _, track := range []string{"step", "epoch", "task_id (spans)", "task_id (spans) 2"} {
		if n := bytes.Count(b.Bytes(), append([]byte{byte(len(track))}, track...)); n == 0 {
			t.Errorf("no track %q", track)
		}
	}
	b.Reset()
	if err := export.Chrome(t.Context(), &b, r, export.Options{}); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name, Ph, Cat string
			TS            float64
			PID           uint32
			ID            uint64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	got, begun := map[string][2]int64{}, map[uint64]float64{}
	for _, e := range file.TraceEvents {
		switch {
		case e.Cat != "label":
		case e.Ph == "b":
			begun[e.ID] = e.TS
		case e.Ph == "e" && e.PID == madePID:
			add(got, e.Name, int64(1000*(e.TS-begun[e.ID])+0.5))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Chrome (-want +got):\n%s", d)
	}
}
