package recording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

func TestSelectionsOfTime(t *testing.T) {
	at := func(s string) uint64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(v.UnixNano())
	}
	sum := store.Summary{First: at("2026-01-31T22:10:00.4Z"), Last: at("2026-02-01T01:00:00Z")}
	for written, want := range map[string][2]string{
		"22:30Z-22:35Z":    {"2026-01-31T22:30:00Z", "2026-01-31T22:35:00Z"},
		"00:30Z-00:30:20Z": {"2026-02-01T00:30:00Z", "2026-02-01T00:30:20Z"},
		"0s-30s":           {"2026-01-31T22:10:00Z", "2026-01-31T22:10:30Z"},
		"5m-":              {"2026-01-31T22:15:00Z", ""},
		"-22:35Z":          {"", "2026-01-31T22:35:00Z"},
		"2026-01-31T22:30:00Z..2026-02-01T00:00:00Z": {"2026-01-31T22:30:00Z", "2026-02-01T00:00:00Z"},
		"pid=7,22:30Z-22:35Z":                        {"2026-01-31T22:30:00Z", "2026-01-31T22:35:00Z"},
		"rank=3":                                     {"", ""},
	} {
		sel, err := recording.ParseSelection(written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		w, err := sel.Window(sum)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		for i, got := range []uint64{w.From, w.To} {
			if expect := want[i]; expect == "" && got != 0 || expect != "" && got != at(expect) {
				t.Errorf("%s: end %d is %s, want %q", written, i, time.Unix(0, int64(got)).UTC(), expect)
			}
		}
	}
	if sel, err := recording.ParseSelection("rank=3,pid=9"); err != nil || sel.Rank != 3 || sel.PID != 9 {
		t.Errorf("%+v, %v", sel, err)
	}
	sel, err := recording.ParseSelection("epoch=7,rank=3")
	if err != nil || sel.Rank != 3 || sel.Key != "epoch" || sel.Value != "7" {
		t.Errorf("%+v, %v", sel, err)
	}
	if _, err := recording.ParseSelection("epoch=7,step=3"); err == nil {
		t.Error("two labels are no error")
	}
}

func TestBadSelectionsAreRefused(t *testing.T) {
	sum := store.Summary{First: 1_700_000_000e9, Last: 1_700_000_100e9}
	for written, says := range map[string]string{
		"":                  "is not a part of a recording",
		"yesterday":         "is not a part of a recording",
		"pid=x":             "is not a process id: write a number from 1 on",
		"pid=0":             "is not a process id: write a number from 1 on",
		"rank=-1":           "is not a rank: write a number from 0 on",
		"2026-01-31-2026-2": "is not a part of a recording",
		"30s-10s":           "is not after",
		"500s-600s":         "nothing was recorded",
		"a-b":               `invalid time "a"`,
	} {
		sel, err := recording.ParseSelection(written)
		if err == nil {
			_, err = sel.Window(sum)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", written, err, says)
		}
	}
}
