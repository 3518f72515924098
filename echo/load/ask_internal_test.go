package load

import (
	"strings"
	"testing"
	"time"
)

func TestQuestionsAreAboutTheWindow(t *testing.T) {
	tools := 0
	now := time.Unix(1_800_000_060, 0)
	for i, q := range questions("5m") {
		b, whole := q.body(now), questions("")[i].body(now)
		if q.path == sqlPath {
			if !strings.Contains(b, "timestamp_ns \\u003e 1800000000000000000\\n") || !strings.Contains(whole, "select max(") {
				t.Errorf("%s: %s; %s", q.name, b, whole)
			}
			continue
		}
		tools++
		want := `"window":"5m"`
		if q.name == "anomaly_list" {
			want = `"time_window":"5m"`
		}
		if !strings.Contains(b, want) {
			t.Errorf("%s: %s", q.name, b)
		}
		if strings.Contains(whole, "window") {
			t.Errorf("%s: %s", q.name, whole)
		}
	}
	if tools < 6 {
		t.Errorf("%d tools", tools)
	}
}
