package unwind

// evaluate runs a DWARF expression (DWARF 5, section 2.5) on the registers of a
// frame. first is the initial stack: the frame's address for expressions of
// registers. ok is false for operations that unwinding does not use, for values
// that are not known, and for damaged code.
func evaluate(code []byte, r *Regs, mem *Memory, first ...uint64) (uint64, bool) {
	e := expression{cursor: cursor{b: code}, regs: r, mem: mem}
	for _, v := range first {
		e.push(v)
	}
	for steps := 0; e.left() > 0; steps++ {
		if steps > maxSteps || !e.step() || e.bad {
			return 0, false
		}
	}
	v := e.pop()
	return v, !e.bad
}

const (
	maxSteps = 1000 // operations of one expression; branches may go back
	maxStack = 64   // values on its stack
)

type expression struct {
	cursor
	regs  *Regs
	mem   *Memory
	stack []uint64
}

func (e *expression) push(v uint64) {
	if len(e.stack) >= maxStack {
		e.bad = true
		return
	}
	e.stack = append(e.stack, v)
}

func (e *expression) pop() uint64 {
	if len(e.stack) == 0 {
		e.bad = true
		return 0
	}
	v := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	return v
}

// peek is the value n below the top.
func (e *expression) peek(n int) uint64 {
	if n >= len(e.stack) {
		e.bad = true
		return 0
	}
	return e.stack[len(e.stack)-1-n]
}

// The operations, DW_OP_*.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

func (e *expression) step() bool {
	op := e.u8()
	switch {
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
		return true
	case op >= opBreg0 && op <= opBreg31:
		return e.register(uint64(op - opBreg0))
	case op >= opConst1u && op <= opConsts || op == opAddr:
		e.push(e.constant(op))
		return true
	case op >= opEq && op <= opNe:
		e.compare(op)
		return true
	case op >= opDup && op <= opRot:
		e.shuffle(op)
		return true
	}
	switch op {
	case opNop:
	case opBregx:
		return e.register(e.uleb())
	case opDeref:
		return e.load(8)
	case opDerefSize:
		return e.load(uint64(e.u8()))
	case opSkip:
		e.jump(int16(e.u16()))
	case opBra:
		to := int16(e.u16())
		if e.pop() != 0 {
			e.jump(to)
		}
	case opPlusUconst:
		e.push(e.pop() + e.uleb())
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opAbs:
		v := int64(e.pop())
		e.push(uint64(max(v, -v)))
	default:
		return e.arithmetic(op)
	}
	return true
}

func (e *expression) register(n uint64) bool {
	off := e.sleb()
	v, ok := e.regs.get(n)
	e.push(v + uint64(off))
	return ok
}

func (e *expression) load(size uint64) bool {
	v, ok := e.mem.small(e.pop(), size)
	e.push(v)
	return ok
}

func (e *expression) jump(by int16) {
	to := e.at + int(by)
	if to < 0 || to > len(e.b) {
		e.bad = true
		return
	}
	e.at = to
}

func (e *expression) constant(op uint8) uint64 {
	switch op {
	case opConst1u:
		return uint64(e.u8())
	case opConst1s:
		return uint64(int64(int8(e.u8())))
	case opConst2u:
		return uint64(e.u16())
	case opConst2s:
		return uint64(int64(int16(e.u16())))
	case opConst4u:
		return uint64(e.u32())
	case opConst4s:
		return uint64(int64(int32(e.u32())))
	case opConstu:
		return e.uleb()
	case opConsts:
		return uint64(e.sleb())
	}
	return e.u64()
}

func (e *expression) shuffle(op uint8) {
	switch op {
	case opDup:
		e.push(e.peek(0))
	case opDrop:
		e.pop()
	case opOver:
		e.push(e.peek(1))
	case opPick:
		e.push(e.peek(int(e.u8())))
	case opSwap:
		a, b := e.pop(), e.pop()
		e.push(a)
		e.push(b)
	case opRot:
		a, b, c := e.pop(), e.pop(), e.pop()
		e.push(a)
		e.push(c)
		e.push(b)
	}
}

// compare does eq, ge, gt, le, lt and ne, which are signed.
func (e *expression) compare(op uint8) {
	b, a := int64(e.pop()), int64(e.pop())
	is := [...]bool{a == b, a >= b, a > b, a <= b, a < b, a != b}[op-opEq]
	if is {
		e.push(1)
	} else {
		e.push(0)
	}
}

func (e *expression) arithmetic(op uint8) bool {
	b, a := e.pop(), e.pop()
	switch op {
	case opAnd:
		a &= b
	case opOr:
		a |= b
	case opXor:
		a ^= b
	case opPlus:
		a += b
	case opMinus:
		a -= b
	case opMul:
		a *= b
	case opDiv:
		if b == 0 {
			return false
		}
		a = uint64(int64(a) / int64(b))
	case opMod:
		if b == 0 {
			return false
		}
		a %= b
	case opShl:
		a <<= b
	case opShr:
		a >>= b
	case opShra:
		a = uint64(int64(a) >> b)
	default:
		return false
	}
	e.push(a)
	return true
}
