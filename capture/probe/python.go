package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"github.com/ingero-io/ingero/capture/bpf"
)

// ErrNoPython says that Python frames cannot be walked here.
var ErrNoPython = errors.New("the kernel has no bpf_loop, which is from 5.17 on: stacks have no Python frames")

// PythonSupport is nil if the kernel can walk Python frames.
func PythonSupport() error {
	err := features.HaveProgramHelper(ebpf.Kprobe, asm.FnLoop)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return ErrNoPython
	}
	if err != nil {
		return fmt.Errorf("look for bpf_loop: %w", explain(err))
	}
	return nil
}

// SetPython says that process pid runs a Python interpreter with the given layout.
// SetPython chooses the seed in it.
func (t *Tracer) SetPython(pid int, layout bpf.WirePyProc) error {
	return t.python.set(uint32(pid), layout)
}

// InheritPython says that a process was forked from another and runs the same
// interpreter, if that process runs one.
func (t *Tracer) InheritPython(parent, child int) error {
	l, ok := t.python.layouts[uint32(parent)]
	if !ok {
		return nil
	}
	return t.python.set(uint32(child), l)
}

// ForgetPython ends the walking of a process's Python frames: it ended, or
// executed another program.
func (t *Tracer) ForgetPython(pid int) { t.python.forget(uint32(pid)) }

// interpreters are the layouts that were given to the kernel programs.
type interpreters struct {
	procs   *ebpf.Map // nil: no Python frames
	layouts map[uint32]bpf.WirePyProc
	seed    uint64
	sent    time.Time // when something was last sent again
}

func (i *interpreters) set(pid uint32, layout bpf.WirePyProc) error {
	if i.procs == nil {
		return ErrNoPython
	}
	i.seed++
	layout.Seed = i.seed
	i.layouts[pid] = layout
	if err := i.procs.Put(pid, layout); err != nil {
		return fmt.Errorf("set the Python layout of process %d: %w", pid, err)
	}
	return nil
}

func (i *interpreters) forget(pid uint32) {
	if _, ok := i.layouts[pid]; ok {
		delete(i.layouts, pid)
		_ = i.procs.Delete(pid) // fails if the kernel has dropped it already
	}
}

// sendAgain makes the kernel programs send all data again for processes of which
// something is missing: a new seed changes every hash.
func (t *Tracer) sendAgain() {
	again := t.decode.python.again
	if len(again) == 0 || time.Since(t.python.sent) < time.Second {
		return
	}
	t.python.sent = time.Now()
	for pid, l := range t.python.layouts {
		if !again[pid] && !again[0] {
			continue
		}
		if err := t.python.set(pid, l); err != nil {
			t.log.Warn("Python frames are missing", "pid", pid, "err", err)
		}
	}
	clear(again)
}
