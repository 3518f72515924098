package export

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/lib/plain"
	"github.com/ingero-io/ingero/store"
)

// band is a label of a process for a time. Those of one track follow each other.
type band struct {
	pid        uint32
	track      string
	start, dur uint64 // Unix ns, ns
	name       string
	args       []arg
}

// tracksOf are the tracks of a process's labels with one key: for those that were set, and as many for
// spans as overlap.
type tracksOf struct {
	pid  uint32
	key  string
	span bool
}

// labels draws what processes said they work on: a track for each process and key.
func (t *timeline) labels(ctx context.Context) error {
	list, err := store.List[store.Label](ctx, t.src, t.o.Window)
	if err != nil {
		return err
	}
	ends := map[tracksOf][]uint64{}
	for i := range list {
		l := &list[i]
		t.rows.countRow()
		if l.TID != 0 {
			continue // a range of a thread
		}
		t.process(l.PID, "")
		of := tracksOf{l.PID, l.Key, l.Span}
		n := free(ends[of], l)
		if n == len(ends[of]) {
			ends[of] = append(ends[of], 0)
		}
		ends[of][n] = l.To
		t.to.band(&band{
			pid: l.PID, track: trackOf(l, n), start: l.From, dur: l.To - l.From,
			name: plain.Controls(l.Key + " " + l.Value),
			args: []arg{
				{name: "key", kind: text, s: l.Key},
				{name: "value", kind: text, s: plain.Controls(l.Value)},
			},
		})
	}
	return nil
}

// free is the first track whose last label has ended.
func free(ends []uint64, l *store.Label) int {
	for i, end := range ends {
		if end <= l.From {
			return i
		}
	}
	return len(ends)
}

// trackOf is the name of the n-th track of a label's key.
func trackOf(l *store.Label, n int) string {
	name := l.Key
	if l.Span {
		name += " (spans)"
	}
	if n > 0 {
		name += fmt.Sprintf(" %d", n+1)
	}
	return name
}
