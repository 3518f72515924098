package mcptool

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
)

// A long answer costs the model tokens. Without a limit a list ends before the answer
// becomes longer than budget. A caller that gives a limit gets that many items, up to
// most bytes. The rest is available by a cursor.
const (
	budget   = 3000      // bytes of a list, as JSON: the answer has it twice, and 2,000 tokens of about 4 bytes
	most     = 100 << 10 // bytes of a list that was asked for with a limit
	maxRows  = 1000
	longest  = 1 << 20 // an offset beyond which there is nothing
	oneQuote = 8       // bytes of separators around an item
	minRow   = 100     // bytes that a row about a place in the code has at least, as JSON
)

// paging selects a part of a list.
type paging struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"at most 1000; default 2000 tokens"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor; default begin"`

	taken int // bytes of the answer that are used by other fields
}

var errCursor = errors.New("this cursor belongs to a call with other arguments; " +
	"repeat those, or leave cursor out")

// offset is where the part begins. key holds what the cursor must belong to, see fingerprint.
func (p paging) offset(key any) (int, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	at, _ := parse(p.Cursor)
	if own, _, _ := strings.Cut(p.Cursor, pin); own != next(at, key) || at < 0 || at > longest {
		return 0, errCursor
	}
	return at, nil
}

// parse decodes a cursor; at is -1 if it is invalid.
func parse(cursor string) (at int, of uint32) {
	if n, err := fmt.Sscanf(cursor, "%d.%x", &at, &of); n != 2 || err != nil {
		return -1, 0
	}
	return at, of
}

// next is the cursor of the part that begins at an offset.
func next(at int, key any) string { return fmt.Sprintf("%d.%x", at, fingerprint(key)) }

// fingerprint identifies a question by the tool and its arguments, without the
// requested part of the answer.
func fingerprint(key any) uint32 {
	b, _ := json.Marshal(key) // it came from JSON
	var args map[string]any
	if json.Unmarshal(b, &args) == nil {
		delete(args, "limit")
		delete(args, "cursor")
		b, _ = json.Marshal(args)
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%T %s", key, b) // never fails
	return h.Sum32()
}

// pin begins the part of a cursor that holds the window of the first part. Without it,
// each part of a growing recording's list would come from another list.
const pin = "@"

// of is the scope of a part: that of the first one, if the cursor holds it.
func (p paging) of(in scope) scope {
	if _, window, ok := strings.Cut(p.Cursor, pin); ok {
		in.Since = window
	}
	return in
}

// pinned adds this part's window to the cursor of the next part.
func (p paging) pinned(next string, c *common) string {
	if _, window, ok := strings.Cut(p.Cursor, pin); ok {
		return next + pin + window
	}
	if c.live {
		return next + pin + c.Window
	}
	return next
}

// reach is which rows of a list can be on the part that is asked for, if a row has minRow bytes at least:
// what is costly to find out is found out of these only.
func (p paging) reach(rows int) (from, to int) {
	from, _ = parse(p.Cursor) // a wrong one is refused when the page is cut
	from = min(max(from, 0), rows)
	n := budget / minRow
	if p.Limit > 0 {
		n = min(p.Limit, maxRows)
	}
	return from, min(from+n+1, rows)
}

// page is the part of a list that was asked for, and the cursor of the rest. key
// are the arguments, c is what is told of the window.
func page[T any](list []T, p paging, key any, c *common) ([]T, string, error) {
	from, err := p.offset(key)
	if err != nil {
		return nil, "", err
	}
	list = list[min(from, len(list)):]
	n := fitting(list, p)
	if n == len(list) {
		return append([]T{}, list...), "", nil
	}
	return list[:n], p.pinned(next(from+n, key), c), nil
}

// besides is the list of processes that an answer has besides its main list, on the first
// part only: so many that most of the room is left for the main list. A note says how many
// it leaves out.
func besides[T any](processes []T, p *paging, c *common) []T {
	if p.Cursor != "" {
		return []T{}
	}
	part := *p
	part.taken += budget - budget/3
	n := fitting(processes, part)
	if rest := len(processes) - n; rest > 0 {
		c.Note = joined(c.Note, fmt.Sprintf("%d more processes: ask for one with pid", rest))
	}
	p.taken += sizeOf(processes[:n])
	return processes[:n]
}

// sizeOf is how many bytes something of an answer has, as JSON.
func sizeOf(v any) int {
	b, _ := json.Marshal(v) // cannot fail: all its types can be encoded
	return len(b)
}

// fitting is how many items fit into an answer: at least one.
func fitting[T any](list []T, p paging) int {
	room, count := budget-p.taken, maxRows
	if p.Limit > 0 {
		room, count = most, min(p.Limit, maxRows)
	}
	for i := range list {
		b, err := json.Marshal(list[i])
		if room -= len(b) + oneQuote; i > 0 && (err != nil || room < 0) || i == count {
			return i
		}
	}
	return len(list)
}
