// Package latest keeps values by key, in bounded memory: those that were used last.
package latest

// Map keeps at least the values that were used last, most of them, and at most twice as many. It is for one goroutine.
type Map[K comparable, V any] struct {
	most       int
	young, old map[K]V
}

// New makes a map that keeps most values at least; most must be positive.
func New[K comparable, V any](most int) Map[K, V] { return Map[K, V]{most: most, young: map[K]V{}} }

// Put adds or replaces a value.
func (m *Map[K, V]) Put(k K, v V) {
	if _, known := m.young[k]; !known && len(m.young) >= m.most {
		m.old, m.young = m.young, make(map[K]V)
	}
	m.young[k] = v
	delete(m.old, k)
}

// Get returns a value, which counts as used; false if it is not kept, or was never added.
func (m *Map[K, V]) Get(k K) (V, bool) {
	v, ok := m.young[k]
	if ok {
		return v, true
	}
	if v, ok = m.old[k]; ok {
		m.Put(k, v)
	}
	return v, ok
}

// Delete removes a value.
func (m *Map[K, V]) Delete(k K) {
	delete(m.young, k)
	delete(m.old, k)
}

// Len is how many values are kept.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }
