package tui

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// style is how text is drawn. No information is in the style alone: a terminal may have no colours.
type style string

// The styles, as parameters of SGR escape sequences.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	bad    style = "1;31"
	warn   style = "33"
	accent style = "36"
	chosen style = "7"
)

// paint draws text, which must have no escape sequences of its own.
func (m *Model) paint(i style, s string) string {
	if !m.o.Colour || i == plain || s == "" {
		return s
	}
	return "\x1b[" + string(i) + "m" + s + "\x1b[0m"
}

// look is how a kind of time is shown: by a letter and, on a terminal with colours, by a style.
type look struct {
	letter byte
	word   string
	style  style
}

// classLook is how a class is shown; its title is that of package event.
type classLook struct {
	class  event.Class
	letter byte
	style  style
}

func (c *classLook) look() look { return look{c.letter, c.class.Title(), c.style} }

// on is a colour as a background, with text that can be read on it.
func on(text, r, g, b int) style {
	return style(fmt.Sprintf("38;2;%d;%d;%d;48;2;%d;%d;%d", text, text, text, r, g, b))
}

// looks has the classes in the order in which bars show them: on a CPU first, then what
// is lost, then what a healthy thread does, too. The colours are those of Okabe and Ito,
// which can be distinguished with any kind of colour vision, and greys.
// https://jfly.uni-koeln.de/color/
var looks = []classLook{
	{event.OnCPU, 'C', on(255, 0, 114, 86)},
	{event.RunQueue, 'Q', on(0, 213, 94, 0)},
	{event.Throttled, 'T', on(0, 204, 121, 167)},
	{event.Futex, 'L', on(0, 240, 228, 66)},
	{event.BlockIO, 'D', on(255, 0, 114, 178)},
	{event.Fault, 'F', on(0, 150, 90, 160)},
	{event.Network, 'N', on(0, 230, 159, 0)},
	{event.Pipe, 'P', on(0, 86, 180, 233)},
	{event.Ioctl, 'G', on(255, 110, 110, 110)},
	{event.Poll, 'O', on(255, 85, 85, 85)},
	{event.Sleep, 'S', on(255, 60, 60, 60)},
	{event.Other, 'X', on(0, 190, 190, 190)},
}

// unaccounted is how time is shown that the kernel has not reported yet.
var unaccounted = look{'.', "not told yet", dim}
