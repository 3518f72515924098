//go:build !linux

package duckdb

// trim does nothing: other systems' C libraries are not known to keep freed memory.
func trim() {}
