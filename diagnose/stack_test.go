package diagnose

import (
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestFramesOfAStack(t *testing.T) {
	st := &event.Stack{Cut: true, Frames: []event.Frame{
		{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: 7},
		{Kind: event.FrameNative, Symbol: "at::matmul", Module: "libtorch.so", Offset: 9},
		{Kind: event.FrameNative, Addr: 0x7f0000001234, Module: "libc.so.6", Offset: 0x2724a},
		{Kind: event.FrameNative, Addr: 0x7f0000001234},
	}}
	want := []string{"train.py:7 in step", "at::matmul [libtorch.so]", "libc.so.6+0x2724a", "0x7f0000001234", "… (its callers were not found)"}
	if got := Frames(st); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if st.Cut = false; len(Frames(st)) != 4 {
		t.Errorf("a whole stack: %q", Frames(st))
	}
}

func TestTheFrameToNameHasAName(t *testing.T) {
	nameless, native, python := event.Frame{Addr: 1}, event.Frame{Symbol: "alloc"}, event.Frame{Kind: event.FramePython, Symbol: "step"}
	for _, c := range []struct {
		frames []event.Frame
		want   int
	}{
		{[]event.Frame{nameless, native, python}, 2},
		{[]event.Frame{nameless, native, native}, 1},
		{[]event.Frame{nameless, nameless}, 0},
	} {
		if got := namable(c.frames); got != &c.frames[c.want] {
			t.Errorf("%+v: got %+v", c.frames, got)
		}
	}
}
