package mcptool

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

// dropped is what the tracer could not record, by kind, in words that begin with how much:
// the same in every answer. It is no time: that which a thread lost is lost_ns.
type dropped map[string]string

// droppedOf words counts; a kind of a newer Ingero is just counted.
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
