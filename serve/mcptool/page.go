package mcptool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ingero-io/ingero/serve/mcpshape"
)

const (
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

var errCursor = errors.New(mcpshape.WrongCursor)

// offset is where the part begins. key holds what the cursor must belong to.
func (p paging) offset(key any) (int, error) {
	at, _, ok := mcpshape.Begin(p.Cursor, key, longest)
	if !ok {
		return 0, errCursor
	}
	return at, nil
}

// scopeOf is the scope of a part: that of the first one, if the cursor holds it.
func (p paging) scopeOf(in scope) scope {
	if _, window, ok := strings.Cut(p.Cursor, mcpshape.Pin); ok {
		in.Since = window
	}
	return in
}

// pinned adds this part's window to the cursor of the next part.
func (p paging) pinned(next string, c *common) string {
	if _, window, ok := strings.Cut(p.Cursor, mcpshape.Pin); ok {
		return next + mcpshape.Pin + window
	}
	if c.live {
		return next + mcpshape.Pin + c.Window
	}
	return next
}

// reach is which rows of a list can be on the part that is asked for, if a row has minRow bytes at least:
// what is costly to find out is found out of these only.
func (p paging) reach(rows int) (from, to int) {
	from = mcpshape.Offset(p.Cursor) // a wrong one is refused when the page is cut
	from = min(max(from, 0), rows)
	n := mcpshape.Budget / minRow
	if p.Limit > 0 {
		n = min(p.Limit, mcpshape.MaxRows)
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
	return list[:n], p.pinned(mcpshape.Cursor(from+n, key), c), nil
}

// besides is the list of processes that an answer has besides its main list, on the first
// part only: so many that most of the room is left for the main list. A note says how many
// it leaves out.
func besides[T any](processes []T, p *paging, c *common) []T {
	if p.Cursor != "" {
		return []T{}
	}
	part := *p
	part.taken += mcpshape.Budget - mcpshape.Budget/3
	n := fitting(processes, part)
	if rest := len(processes) - n; rest > 0 {
		c.Note = joined(c.Note, fmt.Sprintf("%d more processes: ask for one with pid", rest))
	}
	p.taken += mcpshape.Size(processes[:n])
	return processes[:n]
}

// fitting is how many items fit into an answer: at least one.
func fitting[T any](list []T, p paging) int {
	return mcpshape.Fit(len(list), p.Limit, p.taken, func(i int) int {
		b, err := json.Marshal(list[i])
		if err != nil {
			return math.MaxInt32 // the list ends before it
		}
		return len(b) + oneQuote
	})
}
