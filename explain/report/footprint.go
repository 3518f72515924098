package report

import (
	"fmt"
)

// Footprint is the system calls of processes and what they used. The lists are sorted, most first.
// All times are nanoseconds.
type Footprint struct {
	Processes []FootprintProcess `json:"processes"`
	Syscalls  []FootprintSyscall `json:"syscalls"`
	Files     []FootprintFile    `json:"files"` // devices, directories and pipes too
	Sockets   []FootprintSocket  `json:"sockets"`
	Missing   []FootprintMissing `json:"not_opened"`              // paths that could not be opened or executed
	Programs  []FootprintProgram `json:"programs"`                // executed, in order
	Libraries []FootprintLibrary `json:"libraries"`               // mapped executable
	LeftOut   uint64             `json:"left_out"`                // entries beyond the limit
	UntilNS   uint64             `json:"until_cuda_ns,omitempty"` // length, if it ended because CUDA was loaded
}

// FootprintProcess is a process that was watched.
type FootprintProcess struct {
	PID      uint32 `json:"pid"`
	Parent   uint32 `json:"parent_pid"`
	Process  string `json:"process"`
	FirstNS  uint64 `json:"first_ns"`  // Unix time
	EndedNS  uint64 `json:"ended_ns"`  // Unix time, 0 if it did not end
	CPUNS    uint64 `json:"cpu_ns"`    // on CPUs
	UserNS   uint64 `json:"user_ns"`   // part outside of system calls; includes page faults
	KernelNS uint64 `json:"kernel_ns"` // part in system calls
	Syscalls uint64 `json:"syscalls"`
	Errors   uint64 `json:"errors"`
}

// FootprintSyscall is a system call of a process.
type FootprintSyscall struct {
	PID     uint32            `json:"pid"`
	Syscall string            `json:"syscall"`
	Calls   uint64            `json:"calls"`
	Errors  uint64            `json:"errors"`
	TotalNS uint64            `json:"total_ns"` // waiting included
	MaxNS   uint64            `json:"max_ns"`
	CPUNS   uint64            `json:"cpu_ns"` // of TotalNS, on a CPU
	Errnos  map[string]uint64 `json:"errnos"` // by name, never nil
}

// FootprintFile is a file, folder or device that a process opened.
type FootprintFile struct {
	PID        uint32 `json:"pid"`
	Kind       string `json:"kind"` // file, directory, device or pipe
	Path       string `json:"path"`
	Opens      uint64 `json:"opens"`
	Reads      uint64 `json:"reads"`
	ReadBytes  uint64 `json:"read_bytes"`
	Writes     uint64 `json:"writes"`
	WriteBytes uint64 `json:"write_bytes"`
	Errors     uint64 `json:"errors"`
}

// FootprintSocket is a socket that a process used.
type FootprintSocket struct {
	PID        uint32 `json:"pid"`
	Family     string `json:"family"`
	Protocol   string `json:"protocol"`
	Role       string `json:"role"` // connect, accept, listen, or empty: it existed before
	Remote     string `json:"remote"`
	RemotePort uint16 `json:"remote_port"`
	LocalPort  uint16 `json:"local_port"`
	Peer       uint32 `json:"peer_pid"`
	Opens      uint64 `json:"opens"`
	ReadBytes  uint64 `json:"read_bytes"`
	WriteBytes uint64 `json:"write_bytes"`
	Errors     uint64 `json:"errors"`
}

// FootprintMissing is a path that could not be opened or executed.
type FootprintMissing struct {
	PID   uint32 `json:"pid"`
	Path  string `json:"path"` // as the process gave it
	Error string `json:"error"`
	Count uint64 `json:"count"`
}

// FootprintProgram is a program that a process executed.
type FootprintProgram struct {
	PID  uint32   `json:"pid"`
	AtNS uint64   `json:"at_ns"` // Unix time
	Path string   `json:"path"`
	Args []string `json:"args"`
}

// FootprintLibrary is a file that a process mapped executable.
type FootprintLibrary struct {
	PID  uint32 `json:"pid"`
	Path string `json:"path"`
}

// Verdict describes a recording without CUDA calls.
func (f *Footprint) Verdict() string {
	var errors, cpu uint64
	for i := range f.Processes {
		p := &f.Processes[i]
		errors, cpu = errors+p.Errors, cpu+p.CPUNS
	}
	who := "no process"
	if n := len(f.Processes); n > 0 {
		who = fmt.Sprintf("%s (%d)", Printable(f.Processes[0].Process), f.Processes[0].PID)
		switch {
		case n == 2:
			who += " and another process"
		case n > 2:
			who += fmt.Sprintf(" and %d other processes", n-1)
		}
	}
	failed := ""
	if errors > 0 {
		failed = fmt.Sprintf(", %s of them failed", Count(errors))
	}
	return fmt.Sprintf("no CUDA call was made: this is the footprint of %s: %s%s, %s on a CPU, %s, %s, %s executed",
		who, Plural(f.Calls(), "system call"), failed, span(cpu), Plural(uint64(len(f.Files)), "file"),
		Plural(uint64(len(f.Sockets)), "socket"),
		Plural(uint64(len(f.Programs)), "program"))
}

// Calls returns how many system calls there were.
func (f *Footprint) Calls() (n uint64) {
	for i := range f.Processes {
		n += f.Processes[i].Syscalls
	}
	return n
}
