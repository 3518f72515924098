package sqlite

import (
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// guard allows a statement only to read and to compute. It is asked while a statement is compiled.
// All functions are allowed because none of them reaches outside: extension loading is off, and
// file functions exist only in SQLite's shell.
type guard struct {
	refused string // what was refused first
	reads   statementReads
}

// Authorize implements sqlite.Authorizer.
func (g *guard) Authorize(a sqlite.Action) sqlite.AuthResult {
	g.reads.note(a)
	switch a.Type() {
	case sqlite.OpSelect, sqlite.OpRead, sqlite.OpRecursive, sqlite.OpFunction:
		return sqlite.AuthResultOK
	case sqlite.OpPragma:
		if slices.Contains(readingPragmas, strings.ToLower(a.Pragma())) {
			return sqlite.AuthResultOK
		}
	}
	if g.refused == "" {
		g.refused = describeAction(a)
	}
	return sqlite.AuthResultDeny
}

func describeAction(a sqlite.Action) string {
	if a.Type() == sqlite.OpPragma {
		return "pragma " + a.Pragma()
	}
	name := strings.TrimPrefix(a.Type().String(), "SQLITE_")
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// readingPragmas describe the schema and change no setting.
var readingPragmas = []string{
	"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
}
