package main

import "runtime/debug"

const (
	// heap is for how many bytes of its own memory the program collects garbage more often. The engine's memory is not
	// among them: see --engine-memory-mib.
	heap = 160 << 20
	// heapAlone is that if the store is a server, so that there is no engine in the program. Points wait longer for it.
	heapAlone = 400 << 20
	// growth is by how many percent the heap grows until garbage is collected.
	growth = 50
)

// keepSmall keeps the heap small, unless the environment says how large it may be, as for any program of Go.
func keepSmall(env func(string) string, limit int64) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if env("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
}
