package duckdb

// #include <malloc.h>
import "C"

// trim gives freed memory back to the machine. Otherwise the C library keeps it.
func trim() { C.malloc_trim(0) }
