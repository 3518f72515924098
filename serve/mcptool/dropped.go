package mcptool

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// dropped is what the tracer could not record, by kind, as text that begins with the
// count: the same in every answer. It is not lost time: that is lost_ns.
type dropped map[string]string

// droppedOf describes counts; a kind of a newer Ingero has only its count.
func droppedOf(counts map[string]uint64) dropped {
	d := dropped{}
	for kind, n := range counts {
		if n > 0 {
			d[string(name(kind))] = fmt.Sprintf("%d records", n)
		}
	}
	for i := range event.Losses {
		l := &event.Losses[i]
		if n := counts[l.Name]; n > 0 {
			d[l.Name] = fmt.Sprintf("%d %s", n, l.Words(n))
		}
	}
	return d
}
