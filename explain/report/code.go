package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// Code is where samples of a thread show that its time went: the innermost function that most of them are in.
type Code struct {
	Samples  int     `json:"samples"`
	Share    float64 `json:"share"`             // of them, in Function and what it calls
	Function string  `json:"function"`          // "gc_collect_main of libpython3.12.so"
	Caller   string  `json:"caller,omitempty"`  // "train.py:31 in step": the innermost Python function that calls it
	Call     string  `json:"call,omitempty"`    // "cudaHostAlloc": the call of CUDA or NCCL that most of them are in
	Syscall  string  `json:"syscall,omitempty"` // the system call that most of them are in
	InKernel float64 `json:"in_kernel_share"`   // of all samples
	Kernel   string  `json:"kernel,omitempty"`  // "compact_zone of the kernel": where most of those in the kernel are
	Waits    bool    `json:"waits,omitempty"`   // it is where a thread waited: Share is of the time of its waits
	// Settings are those that have to do with this code: "clock_source=hpet".
	Settings []string `json:"settings,omitempty"`
}

// known are functions whose names do not say to everybody what they do: how the names begin, and what it is.
var known = []struct{ prefix, what string }{
	{"gc_collect", "Python's garbage collector"},
	{"compact_zone", "memory compaction"},
	{"gomp_team_barrier_wait", "OpenMP's barrier, where its threads spin"},
	{"gomp_barrier_wait", "OpenMP's barrier, where its threads spin"},
	{"handle_mm_fault", "page faults"},
	{"exc_page_fault", "page faults"},
	{"do_user_addr_fault", "page faults"},
	{"filemap_fault", "page faults of mapped files"},
}

// FunctionName names a function of a stack, with the file that it is in, and says what it does if it is known.
func FunctionName(f *event.Frame) string {
	for _, k := range known {
		if strings.HasPrefix(f.Symbol, k.prefix) {
			return placeName(f) + " (" + k.what + ")"
		}
	}
	return placeName(f)
}

func placeName(f *event.Frame) string {
	switch {
	case f.Symbol == "" && f.Module == "":
		return "code without a name"
	case f.Symbol == "":
		return "code without a name of " + f.Module
	case f.Kind == event.FrameKernel:
		return f.Symbol + " of the kernel"
	case f.Kind == event.FramePython:
		short := *f
		short.File = lastElements(f.File)
		return short.String()
	case f.Module == "":
		return f.String()
	}
	return ShortName(f.Symbol, NameWidth) + " of " + f.Module
}

// lastElements shortens a path to its file and the folder that this is in.
func lastElements(path string) string {
	dir, file := filepath.Split(path)
	return filepath.Join(filepath.Base(dir), file)
}

// noteworthyKernel is the least share of samples in the kernel that is worth saying.
const noteworthyKernel = 0.2

// Words say where the time went: "91 % was in gc_collect_main of python3, called at train.py:31 in step".
func (c *Code) Words() string {
	if c.Waits {
		return c.waitWords()
	}
	s := fmt.Sprintf("%.0f %% was in %s", 100*c.Share, c.Function)
	if c.Call != "" && !strings.HasPrefix(c.Function, c.Call+" ") {
		s += ", in the call " + c.Call
	}
	if c.Syscall != "" {
		s += ", in the system call " + c.Syscall
	}
	if c.Caller != "" {
		s += ", called at " + c.Caller
	}
	if c.InKernel >= noteworthyKernel && !strings.Contains(c.Function, "of the kernel") {
		s += fmt.Sprintf("; %.0f %% was in the kernel", 100*c.InKernel)
		if c.Kernel != "" {
			s += ", in " + c.Kernel
		}
	}
	return s + c.settingWords()
}

func (c *Code) settingWords() string {
	if len(c.Settings) == 0 {
		return ""
	}
	return ", with " + strings.Join(c.Settings, ", ")
}

// waitWords say where a thread waited: "at loader.py:88 in get, called at train.py:31 in step (92 % of these waits, in
// the system call poll)".
func (c *Code) waitWords() string {
	s := "at " + c.Function
	if c.Caller != "" {
		s += ", called at " + c.Caller
	}
	s += fmt.Sprintf(" (%.0f %% of these waits", 100*c.Share)
	if c.Syscall != "" {
		s += ", in the system call " + c.Syscall
	}
	return s + c.settingWords() + ")"
}
