package event

// CodeSample is what a thread ran when a timer interrupted it, or where it went to sleep. Threads that make CUDA calls
// are sampled where they make none for a millisecond or more, and in system calls; others while they run, once a thread
// that makes CUDA calls has waited for them. A CPU takes a sample about 55 times a second at most, at distances of 10
// to 27 ms: how often code is seen is in proportion to its time, where it is sampled. Waits between calls are sampled
// when they begin, where the last one in the same system call took a millisecond or more; each stands for itself,
// however long it was.
type CodeSample struct {
	At uint64 // Unix ns
	Thread
	Comm    string
	Op      Op     // the call that it was in; 0: between calls
	Syscall int16  // the system call that it was in; -1: none
	Waits   bool   // it goes to sleep in Syscall; the interval off the CPU that begins then says for how long
	Stack   uint64 // Stack.ID: functions of the kernel, if it was there, and of the program; 0: not known

	// Kernel is the kernel's stack as it was read, innermost first, with the interrupt's own frames. It is not stored:
	// Stack has the functions.
	Kernel []uint64
}
