package mcptool

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// A long answer costs the model tokens. Without a limit a list ends before the answer becomes longer than budget. A
// caller that gives a limit gets that many items, up to most bytes. The rest is available by a cursor.
const (
	budget  = 3000      // bytes of an answer, as JSON: it has it twice, and 2,000 tokens of about 4 bytes
	most    = 100 << 10 // bytes of a list that was asked for with a limit
	maxRows = 1000
	deepest = 1_000_000 // an offset beyond which there is nothing
	between = 2         // bytes between two items
)

// paging selects a part of a list.
type paging struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"at most 1000; default 2000 tokens"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor; default begin"`
}

// pin begins the part of a cursor that has the window of the first part: without it, each part would be of another
// list.
const pin = "@"

// begin is where the part begins, and the window that it is of; empty: that of the arguments. key are those.
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

// next is the cursor of what begins at an offset.
func (p paging) next(at int, key any, window string) string {
	return fmt.Sprintf("%d.%x%s%s", at, fingerprint(key), pin, window)
}

// fingerprint identifies a question by its arguments, without the part that is asked for.
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

// fit is how many items fit beside what the answer has already, one at least. taken are its bytes.
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

// size is how many bytes something has as JSON.
func size(v any) int {
	b, _ := json.Marshal(v) // cannot fail: all its types can be written
	return len(b)
}

// part is the part of a list that was asked for, from an offset on, and the offset of the rest; 0: there is none.
func part[T any](list []T, p paging, from, taken int) ([]T, int) {
	list = list[min(from, len(list)):]
	n := p.fit(taken, len(list), func(i int) any { return list[i] })
	if n == len(list) {
		return append([]T{}, list...), 0
	}
	return list[:n], from + n
}
