package recording_test

import (
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
)

func TestFramesOfAStack(t *testing.T) {
	st := &event.Stack{Cut: true, Frames: []event.Frame{
		{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: 7},
		{Kind: event.FrameNative, Symbol: "at::matmul", Module: "libtorch.so", Offset: 9},
		{Kind: event.FrameNative, Addr: 0x7f0000001234, Module: "libc.so.6", Offset: 0x2724a},
		{Kind: event.FrameNative, Addr: 0x7f0000001234},
	}}
	want := []string{
		"train.py:7 in step", "at::matmul [libtorch.so]", "libc.so.6+0x2724a", "0x7f0000001234",
		"… (its callers were not found)",
	}
	if got := recording.Frames(st); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if st.Cut = false; len(recording.Frames(st)) != 4 {
		t.Errorf("a whole stack: %q", recording.Frames(st))
	}
}
