package mcpshape

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// A long answer costs the model tokens. Without a limit a list ends before the answer becomes longer than Budget. A
// caller that gives a limit gets that many items, up to most bytes. The rest is available by a cursor.
const (
	Budget  = 3000      // bytes of a list, as JSON: the answer has it twice, and 2,000 tokens of about 4 bytes
	MaxRows = 1000      // items of a list
	most    = 100 << 10 // bytes of a list that was asked for with a limit
)

// Pin begins the part of a cursor that holds the window of the first part. Without it, each part of a growing
// recording's list would come from another list.
const Pin = "@"

// WrongCursor is the answer to a cursor for which Begin returns false.
const WrongCursor = "this cursor belongs to a call with other arguments; repeat those, or leave cursor out"

// Cursor returns the cursor of the part of a list that begins at an offset. key are the arguments of the call.
func Cursor(at int, key any) string { return fmt.Sprintf("%d.%x", at, fingerprint(key)) }

// Offset returns the offset that a cursor holds, whatever call it belongs to; -1: it is no cursor.
func Offset(cursor string) int {
	var at int
	var of uint32
	if n, err := fmt.Sscanf(cursor, "%d.%x", &at, &of); n != 2 || err != nil {
		return -1
	}
	return at
}

// Begin returns the offset of the part that a cursor asks for, and what stands behind Pin. It returns false if the
// cursor belongs to a call with other arguments, or its offset is beyond last. No cursor asks for the first part.
func Begin(cursor string, key any, last int) (at int, window string, ok bool) {
	if cursor == "" {
		return 0, "", true
	}
	own, window, _ := strings.Cut(cursor, Pin)
	if at = Offset(own); at < 0 || at > last || own != Cursor(at, key) {
		return 0, "", false
	}
	return at, window, true
}

// fingerprint identifies a question by the tool and its arguments, without the requested part of the answer.
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

// Room returns how many bytes a list may have in an answer, and how many items. limit is how many the caller asks for,
// 0 if it does not say; taken are the bytes that the answer has beside the list.
func Room(limit, taken int) (bytes, items int) {
	if limit > 0 {
		return most, min(limit, MaxRows)
	}
	return Budget - taken, MaxRows
}

// Fit returns how many of some items fit into an answer: at least one. size is that of an item with what separates it
// from the next one, in bytes.
func Fit(items, limit, taken int, size func(i int) int) int {
	room, count := Room(limit, taken)
	for i := range items {
		if room -= size(i); i == count || i > 0 && room < 0 {
			return i
		}
	}
	return items
}

// Size returns how many bytes something of an answer has, as JSON.
func Size(v any) int {
	b, _ := json.Marshal(v) // cannot fail: all types of answers can be encoded
	return len(b)
}
