package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// The lines and the JSON of trace tell changes.
func TestChangesAreShown(t *testing.T) {
	c := &report.Change{
		Kind: report.ChangeLevel, AtNS: uint64(1000 * time.Second), Process: "trainer\x1b[2J", BeforeNS: 10_000_000,
		AfterNS: 30_000_000, Parts: []report.ChangePart{
			{NS: 19_000_000, What: "3 instead of 1 cudaStreamSynchronize"},
			{NS: 1_000_000, What: "all smaller parts"},
		},
	}
	c.Summary = c.Sentence()
	var out bytes.Buffer
	text := newLineView(&out, 0, "")
	text.changed(c)
	if err := text.lines.close(); err != nil {
		t.Fatal(err)
	}
	want := "[changed] trainer\\x1b[2J: from 00:16:40 UTC on a step takes 30 ms instead of 10 ms, 3.0 times as long," +
		" most of it: 3 instead of 1 cudaStreamSynchronize; the rest: +1 ms all smaller parts\n"
	if got := out.String(); got != want {
		t.Errorf("lines:\n%s", got)
	}
	out.Reset()
	view := newJSONView(&out, nil)
	view.changed(c)
	if err := view.lines.close(); err != nil {
		t.Fatal(err)
	}
	var line jsonChange
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Type != "change" || line.Change.AfterNS != c.AfterNS {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestAChangeIsToldWhileItLasts traces a program that, from some second on, waits for the GPU after each
// of many operations instead of once in a step.
func TestAChangeIsToldWhileItLasts(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", files.LibDir)
	home := t.TempDir()
	r := runIn(t, home, "trace", "--json", "--db", filepath.Join(home, "run.db"), "--", files.Victim, "loop",
		"--seconds", "34", "--start-after", "14", "--fault", "implicit-sync", "--host-us", "500")
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	var truth cudastub.Truth
	for line := range strings.Lines(r.err) {
		if strings.HasPrefix(line, "{") {
			_ = json.Unmarshal([]byte(line), &truth) // other lines of it have no truth
		}
	}
	if truth.FirstNS == 0 {
		t.Fatalf("the program did not say when it changed:\n%s", r.err)
	}
	var told []jsonChange
	for line := range strings.Lines(r.out) {
		var c jsonChange
		if json.Unmarshal([]byte(line), &c) == nil && c.Type == "change" {
			told = append(told, c)
		}
	}
	n := 0
	for _, c := range told {
		t.Log(c.Change.Summary)
		off := time.Duration(int64(c.Change.AtNS) - truth.FirstNS).Abs()
		if c.Change.Kind != report.ChangeLevel || int(c.Change.TID) != truth.TID || off > 2*time.Second {
			continue
		}
		n++
		after := time.Duration(c.At - truth.FirstNS)
		t.Logf("told %s after it began, dated to %s: %s", after, off, c.Change.Summary)
		if after > 15*time.Second || c.Change.AfterNS <= c.Change.BeforeNS {
			t.Errorf("told %s after it began: %+v", after, c.Change)
		}
	}
	if n != 1 {
		t.Errorf("told %d times that steps changed at %s: %+v", n, time.Unix(0, truth.FirstNS).UTC(), told)
	}
}
