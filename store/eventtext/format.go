package eventtext

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Format writes a recording as text that Parse reads back to the same value.
func Format(r *Recording) string {
	w := &writer{base: r.Base}
	for i := range kinds {
		if k := &kinds[i]; k.format != nil {
			k.format(w, r)
		}
	}
	return w.b.String()
}

type writer struct {
	b    strings.Builder
	base uint64
}

func (w *writer) line(s string) { w.b.WriteString(s + "\n") }
func (w *writer) word(s string) { w.b.WriteString(s) }

func (w *writer) set(key, value string) { w.b.WriteString(" " + key + "=" + value) }

func (w *writer) num(key string, v uint64) {
	if v != 0 {
		w.set(key, fmt.Sprint(v))
	}
}

func (w *writer) hex(key string, v uint64) {
	if v != 0 {
		w.set(key, fmt.Sprintf("%#x", v))
	}
}

func (w *writer) int(key string, v, missing int64) {
	if v != missing {
		w.set(key, fmt.Sprint(v))
	}
}

func (w *writer) dur(key string, ns uint64) {
	if ns != 0 {
		w.set(key, formatDuration(ns))
	}
}

func (w *writer) text(key, v string) {
	if v != "" {
		w.set(key, quote(v))
	}
}

func (w *writer) flag(key string, v bool) {
	if v {
		w.b.WriteString(" " + key)
	}
}

func (w *writer) op(key string, o event.Op) {
	if o != 0 {
		w.set(key, o.String())
	}
}

func (w *writer) thread(key string, t event.Thread) {
	if t != (event.Thread{}) {
		w.set(key, fmt.Sprintf("%d/%d", t.PID, t.TID))
	}
}

func (w *writer) when(at uint64) string {
	if at < w.base {
		return fmt.Sprintf("@%d", at)
	}
	return "+" + formatDuration(at-w.base)
}

func (w *writer) classes(ns *[event.NumClasses]uint64) {
	for c := range event.NumClasses {
		w.dur(c.String(), ns[c])
	}
}

func (w *writer) ledger(l *event.Ledger) {
	w.classes(&l.NS)
	w.num("vol", uint64(l.Voluntary))
	w.num("invol", uint64(l.Involuntary))
}

func (w *writer) list(key string, v []uint64) {
	if len(v) == 0 {
		return
	}
	s := make([]string, len(v))
	for i, n := range v {
		s[i] = fmt.Sprint(n)
	}
	w.set(key, strings.Join(s, ","))
}
