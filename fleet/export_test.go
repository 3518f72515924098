package fleet

// NodeSQL is what nodes are asked for a statement; ok is false if it is the statement
// itself.
func NodeSQL(sql string) (node string, ok bool) {
	p := planOf(sql)
	return p.node, p.final != ""
}
