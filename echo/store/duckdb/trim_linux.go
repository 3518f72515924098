package duckdb

// #include <malloc.h>
import "C"

// trim gives memory that was freed back to the machine. Otherwise the C library keeps it for the next time.
func trim() { C.malloc_trim(0) }
