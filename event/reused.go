package event

// The kernel gives an id of a process or thread to another one when the first has ended. A recording of two runs of
// the tracer, or of a long one, may hold several of them. A Reader gives each an id of its own: the last one keeps
// the kernel's, and each earlier one has a number above idBits, counted back from the last. So all that is keyed by
// id is keyed by process or thread, and KernelID is what people know it by.
const (
	idBits    = 22 // PID_MAX_LIMIT is 1<<22
	MaxReused = 254
	unknownID = 255
)

// ReusedID is the id of the process or thread that had an id n times before its last use. Those more than MaxReused
// uses ago have no names and share one.
func ReusedID(id, n uint32) uint32 { return id&(1<<idBits-1) | min(n, MaxReused)<<idBits }

// UnknownID is the id of an unknown user of an id: no record says who had it at that time.
func UnknownID(id uint32) uint32 { return id&(1<<idBits-1) | unknownID<<idBits }

// KernelID is the kernel's id of a process or thread.
func KernelID(id uint32) uint32 {
	if id>>idBits > unknownID {
		return id // no id of the kernel
	}
	return id & (1<<idBits - 1)
}
