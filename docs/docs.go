// Package docs holds the pages that the program itself shows.
package docs

import _ "embed" // for the pages

// Events is events.md: every operation with its arguments.
//
//go:embed events.md
var Events string

// SQL is sql.md: the views of a recording, with questions as examples.
//
//go:embed sql.md
var SQL string
