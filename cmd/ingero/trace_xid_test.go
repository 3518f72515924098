package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/ingero-io/ingero/store"
)

// The lines and the JSON of trace tell errors of GPUs.
func TestErrorsOfGPUsAreShown(t *testing.T) {
	at := uint64(time.Unix(1000, 0).UnixNano())
	xids := []store.Xid{{At: at, GPU: 1, Code: 79}, {At: at + 1, GPU: -1, Code: 9999}}
	b := &store.Batch{Tables: store.Tables{Xids: xids}}
	var out bytes.Buffer
	text := newLineView(&out, 0, "")
	text.Batch(b)
	if err := text.lines.close(); err != nil {
		t.Fatal(err)
	}
	const first, second = "[GPU ERROR] GPU 1 reported Xid 79 (GPU has fallen off the bus)",
		"[GPU ERROR] a GPU reported Xid 9999 (see https://docs.nvidia.com/deploy/xid-errors)"
	if got := out.String(); got != first+"\n"+second+"\n" {
		t.Errorf("lines:\n%s", got)
	}
	out.Reset()
	view := newJSONView(&out, nil)
	view.Batch(b)
	if err := view.lines.close(); err != nil {
		t.Fatal(err)
	}
	var lines []jsonXid
	for d := json.NewDecoder(&out); d.More(); {
		var x jsonXid
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, x)
	}
	if len(lines) != 2 || lines[0].Type != "xid" || *lines[0].GPU != 1 || lines[0].Xid != 79 || lines[1].GPU != nil ||
		lines[0].At != at {
		t.Errorf("JSON: %+v", lines)
	}
}
