package agent

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// codeStacks names the stacks of code samples. Each sample is at another instruction, so that no two stacks have the
// same addresses. Only the functions are recorded, and the lines of Python: then there are few.
type codeStacks struct {
	program, before map[uint64][]event.Frame // of this batch and the one before, by the id of the decoder
}

// keep keeps the program's stack of a sample that follows: at once, so that it is in this batch or the next one.
func (c *codeStacks) keep(id uint64, frames []event.Frame) {
	if c.program == nil {
		c.program = map[uint64][]event.Frame{}
	}
	c.program[id] = frames
}

// of is the program's stack of a sample.
func (c *codeStacks) of(id uint64) []event.Frame {
	if frames, ok := c.program[id]; ok {
		return frames
	}
	return c.before[id]
}

// name gives the samples of a batch their stacks, and adds those that are new.
func (c *codeStacks) name(r *recorder, b *store.Batch) {
	for i := range b.CodeSamples {
		s := &b.CodeSamples[i]
		frames := functions(slices.Concat(interrupted(r.kernel.Resolve(s.Kernel)), c.of(s.Stack)))
		s.Kernel, s.Stack = nil, functionsID(s.PID, frames)
		if s.Stack != 0 && r.first(s.Stack) {
			b.Stacks = append(b.Stacks, event.Stack{ID: s.Stack, PID: s.PID, Frames: frames})
		}
	}
	c.program, c.before = nil, c.program
}

// interrupted returns what of a kernel stack is not the interrupt's that took it: nothing if the thread was in its
// program. The interrupt's outermost frame is the kernel's entry for interrupts: asm_sysvec_apic_timer_interrupt or
// asm_common_interrupt on x86-64, el0t_64_irq or el1h_64_irq on arm64. Without one it is not known what was
// interrupted, and nothing is returned either.
func interrupted(frames []event.Frame) []event.Frame {
	entry := slices.IndexFunc(frames, func(f event.Frame) bool {
		return strings.HasPrefix(f.Symbol, "asm_") || strings.HasPrefix(f.Symbol, "el") && strings.HasSuffix(f.Symbol, "_irq")
	})
	if entry < 0 {
		return nil
	}
	return frames[entry+1:]
}

// functions leaves the functions of frames, without the places in them. Neighbours that are the same are one: code
// without names.
func functions(frames []event.Frame) []event.Frame {
	for i := range frames {
		f := &frames[i]
		f.Addr, f.Offset = 0, 0
		if f.Kind != event.FramePython {
			f.File, f.Line = "", 0
		}
	}
	return slices.Compact(frames)
}

// functionsID is the id of a stack of functions of a process; 0 without any.
func functionsID(pid uint32, frames []event.Frame) uint64 {
	if len(frames) == 0 {
		return 0
	}
	h := fnv.New64a()
	b := binary.LittleEndian.AppendUint32(nil, pid)
	for i := range frames {
		f := &frames[i]
		b = append(b, byte(f.Kind))
		b = binary.LittleEndian.AppendUint32(b, f.Line)
		for _, s := range []string{f.Symbol, f.File, f.Module} {
			b = append(append(b, s...), 0)
		}
	}
	h.Write(b)
	return max(h.Sum64(), 1)
}
