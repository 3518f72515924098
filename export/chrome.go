package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/ingero-io/ingero/event"
)

// Chrome writes a timeline as JSON in the Trace Event Format. It has the same content as
// Perfetto's, but waits are drawn inside the calls, and times are microseconds with three decimals
// since the first event: a JSON number has no more precision.
func Chrome(ctx context.Context, w io.Writer, src Source, o Options) error {
	sum, err := src.Summary(ctx)
	if err != nil {
		return err
	}
	zero, err := began(ctx, src)
	if err != nil {
		return err
	}
	c := &chrome{w: bufio.NewWriterSize(w, 1<<20), zero: zero}
	head, err := json.Marshal(map[string]any{
		"began_unix_ns": strconv.FormatUint(zero, 10), "node": sum.Node,
		"source": "ingero",
	})
	if err != nil {
		return err
	}
	_, c.err = fmt.Fprintf(c.w, `{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[`, head)
	if err := draw(ctx, src, o, c); err != nil {
		return err
	}
	return c.close()
}

// chrome is a canvas.
type chrome struct {
	w    *bufio.Writer
	zero uint64 // Unix ns of time 0
	any  bool   // an event was written
	err  error

	bands uint64 // ids of labels, so far

	// If there are several machines:
	taken map[uint32]bool   // process ids, of all machines
	shown map[uint32]uint32 // by process id on the machine, the one in the file
	next  uint32            // the next one to use
}

// firstShown is the first number that is never a process id in Linux (PID_MAX_LIMIT,
// include/linux/threads.h).
const firstShown = 1<<22 + 1

func (c *chrome) machine(name string) {
	c.shown = map[uint32]uint32{}
	if c.taken == nil {
		c.taken, c.next = map[uint32]bool{0: true}, firstShown
	}
	pid := c.pid(0)
	c.write(&chromeEvent{
		Name: "process_name", Phase: "M", Time: "0", PID: pid,
		Args: map[string]any{"name": "node " + name},
	})
}

// pid is the number of a process in the file: its own pid, unless a process of another machine has
// it. The machine itself, 0, gets a number if there are several.
func (c *chrome) pid(pid uint32) uint32 {
	if c.shown == nil {
		return pid
	}
	n, ok := c.shown[pid]
	if !ok {
		if n = pid; c.taken[pid] {
			n = c.next
			c.next++
		}
		c.shown[pid], c.taken[n] = n, true
	}
	return n
}

// chromeEvent is an event of the format.
type chromeEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Time     json.Number    `json:"ts"`
	Duration json.Number    `json:"dur,omitempty"`
	PID      uint32         `json:"pid"`
	TID      uint32         `json:"tid"`
	Category string         `json:"cat,omitempty"`
	Scope    string         `json:"s,omitempty"`
	ID       uint64         `json:"id,omitempty"`
	Bind     string         `json:"bp,omitempty"`
	Colour   string         `json:"cname,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// colours of Chrome's palette, by category.
var colours = map[string]string{"finding_high": "terrible", "finding_medium": "bad", "finding_low": "yellow"}

func (c *chrome) failed() error { return c.err }

func (c *chrome) close() error {
	if c.err == nil {
		_, c.err = c.w.WriteString("\n]}\n")
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

// micros formats a time in microseconds, exactly.
func micros(ns uint64) json.Number {
	return json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000))
}

// since is a time relative to the start.
func (c *chrome) since(at uint64) json.Number { return micros(at - min(at, c.zero)) }

func (c *chrome) write(e *chromeEvent) {
	if c.err != nil {
		return
	}
	b, err := json.Marshal(e)
	if err != nil {
		c.err = err
		return
	}
	sep := ",\n"
	if !c.any {
		c.any, sep = true, "\n"
	}
	if _, c.err = c.w.WriteString(sep); c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

func (c *chrome) process(own uint32, name, command string) {
	pid := c.pid(own)
	if pid != own {
		name += fmt.Sprintf(" (pid %d)", own)
	}
	c.write(&chromeEvent{Name: "process_name", Phase: "M", Time: "0", PID: pid, Args: map[string]any{"name": name}})
	if command != "" {
		c.write(&chromeEvent{
			Name: "process_labels", Phase: "M", Time: "0", PID: pid,
			Args: map[string]any{"labels": command},
		})
	}
}

func (c *chrome) thread(t event.Thread, name string) {
	if name != "" {
		c.write(&chromeEvent{
			Name: "thread_name", Phase: "M", Time: "0", PID: c.pid(t.PID), TID: t.TID,
			Args: map[string]any{"name": name},
		})
	}
}

func (c *chrome) slice(s *slice) {
	c.write(&chromeEvent{
		Name: s.name, Phase: "X", Time: c.since(s.start), Duration: micros(s.dur), PID: c.pid(s.PID), TID: s.TID,
		Category: s.category, Args: values(s.args),
	})
	if s.from.flow == 0 {
		return
	}
	// An arrow needs both ends; the format allows them in any order.
	c.write(&chromeEvent{
		Name: "flow", Phase: "s", Time: c.since(s.from.at), PID: c.pid(s.from.PID), TID: s.from.TID,
		Category: "flow", ID: s.from.flow,
	})
	c.write(&chromeEvent{
		Name: "flow", Phase: "f", Bind: "e", Time: c.since(s.start), PID: c.pid(s.PID), TID: s.TID,
		Category: "flow", ID: s.from.flow,
	})
}

func (c *chrome) mark(m *mark) {
	scope := "t"
	switch {
	case m.Thread != (event.Thread{}):
	case c.shown != nil: // of one of several machines
		scope = "p"
	default:
		scope = "g"
	}
	c.write(&chromeEvent{
		Name: m.name, Phase: "i", Time: c.since(m.at), PID: c.pid(m.PID), TID: m.TID, Scope: scope,
		Category: m.category, Colour: colours[m.category], Args: values(m.args),
	})
}

func (c *chrome) count(n *count) {
	c.write(&chromeEvent{
		Name: n.name, Phase: "C", Time: c.since(n.at), PID: c.pid(n.pid), Args: map[string]any{n.unit: n.value},
	})
}

// band is an event of the process and not of a thread, of which the format wants both ends.
func (c *chrome) band(b *band) {
	c.bands++
	for _, e := range []chromeEvent{{Phase: "b", Time: c.since(b.start)}, {Phase: "e", Time: c.since(b.start + b.dur)}} {
		e.Name, e.Category, e.PID, e.ID = b.name, "label", c.pid(b.pid), c.bands
		if e.Phase == "b" {
			e.Args = values(b.args)
		}
		c.write(&e)
	}
}

// values are the arguments of an event. Large numbers are text: JSON readers keep 53 bits of a
// number.
func values(args []arg) map[string]any {
	m := make(map[string]any, len(args))
	for i := range args {
		a := &args[i]
		switch a.kind {
		case number:
			m[a.name] = a.n
			if a.n > 1<<53 {
				m[a.name] = strconv.FormatUint(a.n, 10)
			}
		case address:
			m[a.name] = "0x" + strconv.FormatUint(a.n, 16)
		case signed:
			m[a.name] = int64(a.n)
		case real:
			m[a.name] = a.f
		case text:
			m[a.name] = a.s
		}
	}
	return m
}
