package mcptool

import "github.com/ingero-io/ingero/serve/mcpshape"

const (
	deepest = 1_000_000 // an offset beyond any list
	between = 2         // bytes between two items
)

// paging selects a part of a list.
type paging struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"max 1000; default 2000 tokens"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor"`
}

// begin returns the offset of the part and its window; an empty window: use the arguments'. key are the arguments.
func (p paging) begin(key any) (at int, window string, err error) {
	at, window, ok := mcpshape.Begin(p.Cursor, key, deepest)
	if !ok {
		return 0, "", wrong(mcpshape.WrongCursor)
	}
	return at, window, nil
}

// next returns the cursor for an offset.
func (p paging) next(at int, key any, window string) string {
	return mcpshape.Cursor(at, key) + mcpshape.Pin + window
}

// part returns the part of a list from an offset on, and the offset of the rest; 0: there is none. out is the answer so
// far.
func part[T any](list []T, p paging, from int, out any) ([]T, int) {
	list = list[min(from, len(list)):]
	n := mcpshape.Fit(len(list), p.Limit, mcpshape.Size(out), func(i int) int { return mcpshape.Size(list[i]) + between })
	if n == len(list) {
		return append([]T{}, list...), 0
	}
	return list[:n], from + n
}
