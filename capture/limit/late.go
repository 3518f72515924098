package limit

import "sync"

// Late keeps what Within was given up on and came after all, by key, until it is asked for.
type Late[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
}

// Put keeps a value.
func (l *Late[K, V]) Put(k K, v V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.values == nil {
		l.values = map[K]V{}
	}
	l.values[k] = v
}

// Take returns a value, once.
func (l *Late[K, V]) Take(k K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.values[k]
	delete(l.values, k)
	return v, ok
}

// TakeAll returns all values, once.
func (l *Late[K, V]) TakeAll() map[K]V {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.values
	l.values = nil
	return all
}
