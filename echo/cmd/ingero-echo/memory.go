package main

import "runtime/debug"

const (
	// heap is for how many bytes of its own memory the program collects garbage more often. The engine's memory is not
	// among them: see --engine-memory-mib.
	heap = 160 << 20
	// growth is by how many percent the heap grows until garbage is collected.
	growth = 50
)

// keepSmall keeps the heap small, unless the environment says how large it may be, as for any program of Go.
func keepSmall(env func(string) string) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heap)
	}
	if env("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
}
