package load

import (
	"strings"
	"testing"
)

func TestQuestionsAreAboutTheWindow(t *testing.T) {
	tools := 0
	for i, q := range questions("5m") {
		if q.path == sqlPath {
			continue
		}
		tools++
		want := `"window":"5m"`
		if q.name == "anomaly_list" {
			want = `"time_window":"5m"`
		}
		if !strings.Contains(q.body, want) {
			t.Errorf("%s: %s", q.name, q.body)
		}
		if body := questions("")[i].body; strings.Contains(body, "window") {
			t.Errorf("%s: %s", q.name, body)
		}
	}
	if tools < 6 {
		t.Errorf("%d tools", tools)
	}
}
