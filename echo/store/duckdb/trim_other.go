//go:build !linux

package duckdb

// trim does nothing: C libraries of other systems are not known to keep freed memory.
func trim() {}
