package probe

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/event"
)

// markOf adds a mark that a program set.
func markOf(b []byte, r *Records, toUnix uint64) bool {
	w, ok := as[bpf.WireMarkRec](b)
	if !ok {
		return false
	}
	m := event.Mark{
		Start: w.H.Start + toUnix, Duration: w.Dur, Thread: event.Thread{PID: w.Tgid, TID: w.H.Tid},
		Op: event.Op(w.H.Op), Domain: w.Domain, Category: w.Category, Message: w.Message,
		Handle: bpf.WireMarkForm(w.H.Sub) == bpf.WireMarkFormMARK_HANDLE,
	}
	switch m.Kind() {
	case event.MarkPush, event.MarkPop:
		m.Level = int32(w.Answer)
	case event.MarkStart:
		m.Range = w.Answer
	case event.MarkEnd:
		m.Range = w.Id
	}
	if n := int(w.Len); n > 0 && n <= len(w.Text) {
		text := unsafe.Slice((*byte)(unsafe.Pointer(&w.Text[0])), n)
		if bpf.WireMarkForm(w.H.Sub) == bpf.WireMarkFormMARK_WIDE {
			m.Text = wide(text)
		} else {
			m.Text = whole(strings.TrimRight(string(text), "\x00"), len(w.Text)-1)
		}
	}
	r.Marks = append(r.Marks, m)
	return true
}

// wide is a text of characters of 4 bytes, up to its NUL.
func wide(b []byte) string {
	var s strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		c := binary.LittleEndian.Uint32(b)
		if c == 0 {
			break
		}
		s.WriteRune(rune(min(c, utf8.MaxRune+1))) // what is no character is written as one that says so
	}
	return s.String()
}

// whole leaves out a last character that was cut off, of a text that fills its room, and has it
// valid UTF-8: SQL and JSON take nothing else.
func whole(s string, room int) string {
	if len(s) == room {
		for n := 1; n < utf8.UTFMax && n < len(s); n++ {
			if at := len(s) - n; utf8.RuneStart(s[at]) {
				if !utf8.FullRuneInString(s[at:]) {
					s = s[:at]
				}
				break
			}
		}
	}
	return string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd")))
}
