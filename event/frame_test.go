package event_test

import (
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestTheSiteOfACallIsInTheProgramsOwnCode(t *testing.T) {
	c := []event.Frame{
		{Kind: event.FrameNative, Symbol: "read", Module: "libc.so.6"},
		{Kind: event.FrameNative, Symbol: "cudaMemcpy", Module: "libcudart.so.12"},
		{Kind: event.FrameNative, Addr: 7, Module: "engine", Offset: 0x20},
		{Kind: event.FrameNative, Symbol: "read_batch", Module: "engine"},
	}
	py := append(slices.Clip(c), event.Frame{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: 9})
	for want, frames := range map[string][]event.Frame{
		"":                    c[:3],
		"read_batch [engine]": c,
		"train.py:9 in step":  py,
	} {
		got := ""
		if f := event.Site(frames); f != nil {
			got = f.String()
		}
		if got != want {
			t.Errorf("the site is %q, want %q", got, want)
		}
	}
	if w := c[2].String(); w != "engine+0x20" {
		t.Errorf("a frame without a name is %q", w)
	}
}
