package event

import "fmt"

// Footprint is what processes asked of the kernel and touched. It has only what
// changed since the previous footprint. Syscalls are increments; the numbers of the
// others are totals since the process began to be watched.
type Footprint struct {
	At        uint64 // Unix ns
	Syscalls  []SyscallCount
	Errors    []SyscallError
	Touched   []Touched
	Misses    []Miss
	Programs  []Program
	Libraries []MappedLibrary
	CPU       []ProcessCPU
}

// IsZero reports whether nothing changed.
func (f *Footprint) IsZero() bool {
	return len(f.Syscalls)+len(f.Errors)+len(f.Touched)+len(f.Misses)+len(f.Programs)+len(f.Libraries)+len(f.CPU) == 0
}

// SyscallCount is how often a process made a system call. Calls that have not
// returned are not counted yet.
type SyscallCount struct {
	At     uint64 // Unix ns, when it was read
	PID    uint32
	Nr     uint16 // on the traced machine's architecture
	Calls  uint64
	Errors uint64
	NS     uint64 // in the calls, waiting included
	CPUNS  uint64 // of that, on a CPU
	MaxNS  uint64 // of the longest, if it is longer than any before, else 0
}

// SyscallError is how often a process's system call failed with an error.
type SyscallError struct {
	PID   uint32
	Nr    uint16
	Errno uint16
	Count uint64
}

// TouchKind says what a process touched. The numbers are in databases and
// append-only.
type TouchKind uint8

// The kinds.
const (
	TouchFile TouchKind = 1 + iota
	TouchDirectory
	TouchDevice // character or block device
	TouchPipe
	TouchSocket
)

var touchNames = [...]string{"", "file", "directory", "device", "pipe", "socket"}

// String returns the name used in SQL and JSON.
func (k TouchKind) String() string {
	if int(k) < len(touchNames) && k > 0 {
		return touchNames[k]
	}
	return fmt.Sprintf("touch-%d", uint8(k))
}

// What a process did to get a socket: bits of Endpoint.How.
const (
	HowConnect uint8 = 1 << iota
	HowAccept
	HowListen
)

// Endpoint is the other end of a socket.
type Endpoint struct {
	Family     string // inet, inet6, unix, or a number
	Protocol   string // tcp, udp, unix, or a number
	LocalPort  uint16
	RemotePort uint16
	Remote     string // address of the other end, or the path of a unix socket; empty if unknown
	Peer       uint32 // process at the other end of a unix socket when it was connected; 0 unknown
	How        uint8  // HowConnect, …; 0: the process had the socket already, or it needs no connection
}

// Touched is a file, directory, device, pipe or socket that a process opened, read
// or wrote.
type Touched struct {
	PID        uint32
	Kind       TouchKind
	Device     uint32 // the kernel's number of the file system
	Inode      uint64
	Generation uint32 // tells files apart that had the same inode one after the other
	Path       string // as the process saw it at first use; empty for sockets
	Endpoint   Endpoint
	Opens      uint64 // opened, or connected, accepted or listening
	Reads      uint64
	ReadBytes  uint64
	Writes     uint64
	WriteBytes uint64
	Errors     uint64 // reads, writes and connects that failed, except with EAGAIN or the like
	First      uint64 // Unix ns at which it was first seen
}

// Miss is a path that a process could not open or execute.
type Miss struct {
	PID   uint32
	Errno uint16
	Path  string // as the process gave it, perhaps relative; at most 223 bytes
	Count uint64
}

// Program is a program that a process began to run.
type Program struct {
	At   uint64 // Unix ns
	PID  uint32
	Path string   // at most 255 bytes
	Args []string // of the command line; at most 256 bytes in all
}

// MappedLibrary is a file that a process mapped executable.
type MappedLibrary struct {
	PID  uint32
	Path string
}

// ProcessCPU is the time that a process ran since it began to be watched.
type ProcessCPU struct {
	PID    uint32
	Parent uint32 // 0 if unknown
	Comm   string
	First  uint64 // Unix ns from which on it was watched
	Ended  uint64 // Unix ns, 0 while it lives
	NS     uint64 // on CPUs, of all its threads
	InNS   uint64 // of that, in system calls
}
