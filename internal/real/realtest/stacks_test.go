package realtest

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// A wrong frame or a missing end makes a stack different.
func TestStacksThatDifferAreFound(t *testing.T) {
	wait, _ := event.ByName("cudaStreamSynchronize")
	thread := event.Thread{PID: 1, TID: 1}
	at := func(module string, offset uint64) event.Frame {
		return event.Frame{Kind: event.FrameNative, Addr: 1<<40 + offset, Module: module, Offset: offset}
	}
	line := event.Frame{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: 7}
	inner, loop, outer := at("libtorch.so", 0x10), at("libpython.so", 0x20), at("python", 0x30)
	own := map[string]map[string]bool{wait.Name: {"libtorch.so+0x10 python libpython.so+0x20 python+0x30": true}}
	for _, c := range []struct {
		name   string
		frames []event.Frame
		want   StackCounts
	}{
		{
			"same",
			[]event.Frame{inner, line, line, loop, outer},
			StackCounts{Calls: 1, SameCalls: 1, Stacks: 1, SameStacks: 1},
		},
		{"one frame wrong", []event.Frame{inner, line, at("libpython.so", 0x24), outer}, StackCounts{Calls: 1, Stacks: 1}},
		{"the end is missing", []event.Frame{inner, line, loop}, StackCounts{Calls: 1, Stacks: 1}},
		{"lines only", []event.Frame{line}, StackCounts{LinesOnly: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "a.db")
			w, err := sqlite.OpenWriter(db, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b := store.Batch{
				Stacks: []event.Stack{{ID: 5, PID: 1, Frames: c.frames}},
				Tables: store.Tables{
					Records: event.Records{
						Calls: []event.Call{{Start: 1e18, Duration: 1000, Thread: thread, Op: wait.Op, Stack: 5, GPU: event.NoGPU}},
					},
				},
			}
			if err := errors.Join(w.Write(&b), w.Close()); err != nil {
				t.Fatal(err)
			}
			if got := CompareStacks(t, db, own); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheInterpretersLoopIsOneFrame(t *testing.T) {
	isLoop := func(frame string) bool { return frame == "libpython.so+0x20" }
	if got := renamed("a+0x1 libpython.so+0x20 b+0x2", isLoop); got != "a+0x1 python b+0x2" {
		t.Error(got)
	}
}
