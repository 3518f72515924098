package probe

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/privilege"
)

// Attach types and flags of include/uapi/linux/bpf.h.
const (
	attachUprobeMulti   = 48     // BPF_TRACE_UPROBE_MULTI, kernel 6.6
	attachUprobeSession = 57     // BPF_TRACE_UPROBE_SESSION, kernel 6.13
	multiReturn         = 1 << 0 // BPF_F_UPROBE_MULTI_RETURN
	bpfLinkCreate       = 28     // BPF_LINK_CREATE
)

// uprobeMultiAttr is union bpf_attr's link_create for uprobe_multi.
type uprobeMultiAttr struct {
	progFD, targetFD, attachType, flags uint32
	path, offsets, refCtrs, cookies     uint64
	count, multiFlags, pid, _           uint32
}

// Target is one function to be timed.
type Target struct {
	Symbol string
	Offset uint64 // file offset of the instruction to probe
	Cookie uint64 // what bpf_get_attach_cookie returns in the program
	Slow   bool   // the kernel has to single-step that instruction
	Seldom bool   // of an operation that BackendPerf leaves out
}

// closers closes in order and returns the first error.
type closers []func() error

func (c closers) Close() error {
	var first error
	for _, f := range c {
		if err := f(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// held is a path of an open file. Probes are placed by it: where they belong was read from this file, and the owner of
// the folder may give its name to another one at any time.
func held(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }

// multiLink attaches prog to all targets of a file with one link. pid limits it to one process, 0 means every
// process. cilium/ebpf creates such links too, but not of the session type.
func multiLink(file *os.File, prog *ebpf.Program, targets []Target, pid int, attachType, flags uint32) (func() error,
	error,
) {
	name, err := unix.BytePtrFromString(held(file))
	if err != nil {
		return nil, err
	}
	offsets, cookies := make([]uint64, len(targets)), make([]uint64, len(targets))
	for i, t := range targets {
		offsets[i], cookies[i] = t.Offset, t.Cookie
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(name)
	pin.Pin(&offsets[0])
	pin.Pin(&cookies[0])
	a := uprobeMultiAttr{
		progFD: uint32(prog.FD()), attachType: attachType, multiFlags: flags,
		path:    uint64(uintptr(unsafe.Pointer(name))),
		offsets: uint64(uintptr(unsafe.Pointer(&offsets[0]))),
		cookies: uint64(uintptr(unsafe.Pointer(&cookies[0]))),
		count:   uint32(len(targets)), pid: uint32(pid),
	}
	var fd uintptr
	err = privilege.With(func() error {
		r, _, errno := unix.Syscall(unix.SYS_BPF, bpfLinkCreate, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
		if errno != 0 {
			return errno
		}
		fd = r
		return nil
	})
	runtime.KeepAlive(prog)
	runtime.KeepAlive(file)
	if err != nil {
		return nil, fmt.Errorf("attach to %d functions of %s: %w", len(targets), file.Name(), err)
	}
	f := os.NewFile(fd, "uprobe-link")
	return f.Close, nil
}

// perfLinks attaches prog to each target through a perf event of its own.
// Closing such a link takes the kernel about a tenth of a second.
func perfLinks(file *os.File, prog *ebpf.Program, targets []Target, pid int, ret bool) (c closers, err error) {
	err = privilege.With(func() (err error) {
		c, err = openPerfLinks(file, prog, targets, pid, ret)
		return err
	})
	return c, err
}

func openPerfLinks(file *os.File, prog *ebpf.Program, targets []Target, pid int, ret bool) (closers, error) {
	exe, err := link.OpenExecutable(held(file))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file.Name(), err)
	}
	attach := exe.Uprobe
	if ret {
		attach = exe.Uretprobe
	}
	var c closers
	for _, t := range targets {
		l, err := attach(t.Symbol, prog, &link.UprobeOptions{Address: t.Offset, PID: pid, Cookie: t.Cookie})
		if err != nil {
			_ = c.Close() // the error to tell is why attaching failed
			return nil, fmt.Errorf("attach to %s of %s: %w", t.Symbol, file.Name(), err)
		}
		c = append(c, l.Close)
	}
	runtime.KeepAlive(file)
	return c, nil
}
