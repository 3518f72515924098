package store

// Library is a library file of CUDA or of a framework that a traced process uses. A process has one
// for each file.
type Library struct {
	At      uint64 // Unix ns at which the tracer found it mapped
	PID     uint32
	Name    string // what the library calls itself (SONAME), else the file's name: "libcudart.so.12"
	Path    string // of the file itself, as the process sees it, no link to it
	Version string // in the file's name ("12.4.127"), else in Name; empty if there is none
	BuildID string // the linker's, in hexadecimal; empty if there is none, or if the file could not be read
	Size    uint64 // of the file, bytes; 0 if it could not be read
}
