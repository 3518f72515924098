package tui

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// ink is how text is drawn. Nothing is said by ink alone: without colours there is none.
type ink string

// The inks, as parameters of SGR.
const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	bad    ink = "1;31"
	warn   ink = "33"
	accent ink = "36"
	chosen ink = "7"
)

// paint draws text, which must have no escape sequences of its own.
func (m *Model) paint(i ink, s string) string {
	if !m.o.Colour || i == plain || s == "" {
		return s
	}
	return "\x1b[" + string(i) + "m" + s + "\x1b[0m"
}

// look is how a class of time is shown: by a letter and, where there are colours, by one.
type look struct {
	letter byte
	word   string
	ink    ink
}

// on is a colour as a background, with text that can be read on it.
func on(text, r, g, b int) ink {
	return ink(fmt.Sprintf("38;2;%d;%d;%d;48;2;%d;%d;%d", text, text, text, r, g, b))
}

// looks has the classes in the order in which bars show them: on a CPU first, then what
// is lost, then what a healthy thread does, too. The colours are those of Okabe and Ito,
// which can be told apart with any kind of colour vision, and greys.
// https://jfly.uni-koeln.de/color/
var looks = []struct {
	class event.Class
	look
}{
	{event.OnCPU, look{'C', "on CPU", on(255, 0, 114, 86)}},
	{event.RunQueue, look{'Q', "run queue", on(0, 213, 94, 0)}},
	{event.Throttled, look{'T', "throttled", on(0, 204, 121, 167)}},
	{event.Futex, look{'L', "lock", on(0, 240, 228, 66)}},
	{event.BlockIO, look{'D', "disk", on(255, 0, 114, 178)}},
	{event.Fault, look{'F', "page fault", on(0, 150, 90, 160)}},
	{event.Network, look{'N', "network", on(0, 230, 159, 0)}},
	{event.Pipe, look{'P', "pipe", on(0, 86, 180, 233)}},
	{event.Ioctl, look{'G', "driver", on(255, 110, 110, 110)}},
	{event.Poll, look{'O', "poll", on(255, 85, 85, 85)}},
	{event.Sleep, look{'S', "sleep", on(255, 60, 60, 60)}},
	{event.Other, look{'X', "other", on(0, 190, 190, 190)}},
}

// untold is how time is shown of which the kernel has not told yet.
var untold = look{'.', "not told yet", dim}

// word names a class for people.
func word(c event.Class) string {
	for i := range looks {
		if looks[i].class == c {
			return looks[i].word
		}
	}
	return c.String()
}
