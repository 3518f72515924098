package diagnose

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

func TestAFrameWithANameIsChosen(t *testing.T) {
	nameless, native, python := event.Frame{Addr: 1}, event.Frame{Symbol: "alloc"},
		event.Frame{Kind: event.FramePython, Symbol: "step"}
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
