package lists

import "cmp"

// InTurn returns the least key above last, or the least of all if there is none: who asks for one after the other looks
// at each in turn, though keys come and go. It is the zero value if there are no keys.
func InTurn[K cmp.Ordered, V any](m map[K]V, last K) (next K) {
	var least K
	first, found := true, false
	for k := range m {
		if first || k < least {
			least, first = k, false
		}
		if k > last && (!found || k < next) {
			next, found = k, true
		}
	}
	if !found {
		return least
	}
	return next
}
