package eventtext

// kind is a kind of line: how it is read, and how a recording's are written.
type kind struct {
	word  string
	timed bool // a time comes next
	named bool // then a name

	parse  func(*parser, *fields)
	format func(*writer, *Recording) // nil: a recording has no such lines
}

// kindOf are the kinds by their first word.
var kindOf = func() map[string]*kind {
	m := map[string]*kind{}
	for i := range kinds {
		m[kinds[i].word] = &kinds[i]
	}
	return m
}()

// lines writes a line for each element of a list.
func lines[T any](list func(*Recording) []T, line func(*writer, *T)) func(*writer, *Recording) {
	return func(w *writer, r *Recording) {
		l := list(r)
		for i := range l {
			line(w, &l[i])
			w.line("")
		}
	}
}
