package mcptool

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// A long answer costs the model tokens. Without a limit, a list ends before the answer exceeds budget. A caller with
// a limit gets that many items, up to most bytes. A cursor gets the rest.
const (
	budget  = 3000      // bytes of JSON: the answer has them twice, and 2,000 tokens have about 4 bytes each
	most    = 100 << 10 // bytes of a list with a limit
	maxRows = 1000
	deepest = 1_000_000 // an offset beyond any list
	between = 2         // bytes between two items
)

// paging selects a part of a list.
type paging struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"max 1000; default 2000 tokens"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor"`
}

// pin separates a cursor from the window of the first part. Without the window, each part would be of another list.
const pin = "@"

// begin returns the offset of the part and its window; an empty window: use the arguments'. key are the arguments.
func (p paging) begin(key any) (at int, window string, err error) {
	if p.Cursor == "" {
		return 0, "", nil
	}
	own, window, _ := strings.Cut(p.Cursor, pin)
	var print uint32
	if n, err := fmt.Sscanf(own, "%d.%x", &at, &print); n != 2 || err != nil || at < 0 || at > deepest ||
		own != fmt.Sprintf("%d.%x", at, fingerprint(key)) {
		return 0, "", wrong("this cursor belongs to a call with other arguments; repeat those, or leave cursor out")
	}
	return at, window, nil
}

// next returns the cursor for an offset.
func (p paging) next(at int, key any, window string) string {
	return fmt.Sprintf("%d.%x%s%s", at, fingerprint(key), pin, window)
}

// fingerprint identifies a question by its arguments, without limit and cursor.
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

// fit returns how many items fit in the answer, at least one. taken is its size so far, in bytes.
func (p paging) fit(taken, items int, item func(int) any) int {
	room, count := budget-taken, maxRows
	if p.Limit > 0 {
		room, count = most, min(p.Limit, maxRows)
	}
	for i := range items {
		if room -= size(item(i)) + between; i == count || i > 0 && room < 0 {
			return i
		}
	}
	return items
}

// size returns the length of a value as JSON, in bytes.
func size(v any) int {
	b, _ := json.Marshal(v) // cannot fail: all its types can be written
	return len(b)
}

// part returns the part of a list from an offset on, and the offset of the rest; 0: there is none.
func part[T any](list []T, p paging, from, taken int) ([]T, int) {
	list = list[min(from, len(list)):]
	n := p.fit(taken, len(list), func(i int) any { return list[i] })
	if n == len(list) {
		return append([]T{}, list...), 0
	}
	return list[:n], from + n
}
