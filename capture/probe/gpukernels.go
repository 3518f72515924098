package probe

import (
	"bytes"
	"errors"
	"os"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/probe/gpukernel"
	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

// NameKind says how the name of a kernel was found.
type NameKind uint8

// The kinds: enum name of capture/bpf/include/event.h.
const (
	NameRegistered NameKind = 1 // __cudaRegisterFunction: Func is the function a runtime launch names
	NameLoaded     NameKind = 2 // cuModuleGetFunction, cudaLibraryGetKernel: Func is a handle
	NameSame       NameKind = 3 // __cudaGetKernel, cuKernelGetFunction: Func has the name of the kernel From
)

// KernelName is a kernel's name as its program knows it, mangled in general.
type KernelName struct {
	At   uint64 // Unix ns
	PID  uint32
	Kind NameKind
	Func uint64 // the value by which launches identify the kernel
	From uint64 // where the name is in the process's memory; NameSame: the kernel
	Name string // empty if it could not be read, if too many came at once, and for NameSame
}

// naming are the functions from which names are learned, in the form that Library.Find
// takes; Op is the program's cookie.
var (
	registering = []*event.Info{{Name: "__cudaRegisterFunction", Op: event.Op(NameRegistered)}}
	lookingUp   = []*event.Info{
		{Name: "cuModuleGetFunction", Op: event.Op(NameLoaded)},
		{Name: "cuLibraryGetKernel", Op: event.Op(NameLoaded)},
		{Name: "cudaLibraryGetKernel", Op: event.Op(NameLoaded)},
		{Name: "cuKernelGetFunction", Op: event.Op(NameSame)},
		{Name: "__cudaGetKernel", Op: event.Op(NameSame)},
		{Name: "cudaGetKernel", Op: event.Op(NameSame)},
		{Name: "cudaGetFuncBySymbol", Op: event.Op(NameSame)},
	}
)

// attachNames attaches to the functions of a library file from which names are learned.
// It does nothing to a file without any.
func (t *Tracer) attachNames(names *kernel.Loaded, lib *Library, file *os.File, pid int) (closers, error) {
	if names == nil {
		return nil, nil
	}
	register, err := (&Library{Name: lib.Name, File: lib.File, Ops: registering, Embedded: lib.Embedded}).find(file)
	if err != nil {
		return nil, err
	}
	look, err := (&Library{Name: lib.Name, File: lib.File, Ops: lookingUp, Embedded: lib.Embedded}).find(file)
	if err != nil {
		return nil, err
	}
	var all closers
	for _, a := range []struct {
		targets []Target
		ret     bool
	}{{look.Targets, true}, {append(look.Targets, register.Targets...), false}} {
		if len(a.targets) == 0 {
			continue
		}
		c, err := t.linkNames(names.Collection, file, a.targets, pid, a.ret)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, c...)
	}
	return all, nil
}

func (t *Tracer) linkNames(c *ebpf.Collection, file *os.File, targets []Target, pid int, ret bool) (closers, error) {
	if t.variant.backend == BackendPerf {
		program := "perf_enter"
		if ret {
			program = "perf_return"
		}
		return perfLinks(file, c.Programs[program], targets, pid, ret)
	}
	program, flags := "multi_enter", uint32(0)
	if ret {
		program, flags = "multi_return", multiReturn
	}
	l, err := multiLink(file, c.Programs[program], targets, pid, attachUprobeMulti, flags)
	if err != nil {
		return nil, err
	}
	return closers{l}, nil
}

// NamesFD is readable when many names wait to be drained; for epoll. It is -1 if names
// are not recorded.
func (t *Tracer) NamesFD() int {
	names := t.probe(gpukernel.Probe)
	if names == nil {
		return -1
	}
	return names.Collection.Maps[names.Ring].FD()
}

func kernelName(b []byte, r *Records, toUnix uint64) bool {
	if len(b) < int(unsafe.Offsetof(bpf.WireNameRec{}.Name)) {
		return false
	}
	w := (*bpf.WireNameRec)(unsafe.Pointer(&b[0])) // up to Name
	n := KernelName{At: w.H.Start + toUnix, PID: w.Tgid, Kind: NameKind(w.H.Sub), Func: w.Func, From: w.From}
	if w.Len > 0 && len(b) > int(unsafe.Offsetof(w.Name)) {
		text := b[unsafe.Offsetof(w.Name):]
		text = text[:min(int(w.Len), len(text))]
		n.Name = string(bytes.TrimRight(text, "\x00"))
	}
	r.KernelNames = append(r.KernelNames, n)
	return true
}
