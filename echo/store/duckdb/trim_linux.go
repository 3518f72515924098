package duckdb

// #include <malloc.h>
import "C"

// trim gives memory that was freed back to the machine. The C library keeps it otherwise, in case it is asked for again.
func trim() { C.malloc_trim(0) }
