package unwind

import "debug/elf"

// numRegs is how many registers are followed, by DWARF number: the general-purpose
// ones of both architectures. Rules for others, such as vector registers, are skipped.
const numRegs = 33

// Regs are the registers of a frame: the program counter, and the others as far
// as they are known.
type Regs struct {
	PC    uint64
	known uint64 // bit n: val[n] is known
	val   [numRegs]uint64
}

// Set makes a register known, by its DWARF number.
func (r *Regs) Set(n uint8, v uint64) {
	if n < numRegs {
		r.val[n] = v
		r.known |= 1 << n
	}
}

func (r *Regs) get(n uint64) (uint64, bool) {
	if n >= numRegs || r.known>>n&1 == 0 {
		return 0, false
	}
	return r.val[n], true
}

// Arch is what unwinding needs to know of an architecture.
type Arch struct {
	machine elf.Machine
	ra      uint8   // column of the return address
	sp, fp  uint8   // DWARF numbers
	Saved   []uint8 // callee-saved registers, in the order of the wire record
	saved   uint64  // the same as bits
	mask    uint64  // bits of a code address
}

// AMD64 and ARM64 are the architectures. Numbers from the System V ABI for
// AMD64 (figure 3.36) and "DWARF for the Arm 64-bit Architecture" (4.1). On
// arm64, bits 48 and up of a saved return address may hold its signature.
var (
	AMD64 = newArch(Arch{
		machine: elf.EM_X86_64, ra: 16, sp: 7, fp: 6, Saved: []uint8{3, 6, 12, 13, 14, 15},
		mask: 1<<64 - 1,
	})
	ARM64 = newArch(Arch{
		machine: elf.EM_AARCH64, ra: 30, sp: 31, fp: 29,
		Saved: []uint8{19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}, mask: 1<<48 - 1,
	})
)

func newArch(a Arch) *Arch {
	for _, n := range a.Saved {
		a.saved |= 1 << n
	}
	return &a
}

// Start returns the registers of the innermost frame: program counter, stack
// pointer and the values of a.Saved.
func (a *Arch) Start(pc, sp uint64, saved []uint64) Regs {
	r := Regs{PC: pc}
	r.Set(a.sp, sp)
	for i, n := range a.Saved {
		if i < len(saved) {
			r.Set(n, saved[i])
		}
	}
	return r
}
