package unwind

// rule says where a register's value in the caller is.
type rule struct {
	kind ruleKind
	reg  uint64 // ruleRegister: which; of the frame's address: what the offset is added to
	off  int64
	code []byte // of expressions
}

type ruleKind uint8

const (
	ruleUnset      ruleKind = iota // not mentioned: kept if the ABI says so
	ruleUndefined                  // not recoverable; of the return address: there is no caller
	ruleSame                       // kept
	ruleOffset                     // in memory, off from the frame's address
	ruleValue                      // the frame's address plus off
	ruleRegister                   // in another register
	ruleExpression                 // in memory, where the code says
	ruleValueExpr                  // what the code says
)

// row is what the tables say of one instruction: how to find the frame's address
// (the stack pointer before the call), and from it the caller's registers.
type row struct {
	cfa    rule
	regs   []regRule
	ra     uint64 // column of the return address
	signal bool   // the frame of a signal handler: the caller was interrupted
}

type regRule struct {
	reg uint64
	rule
}

// outcome is how a step ends.
type outcome uint8

const (
	stepped outcome = iota
	outermost
	stuck // memory that was not copied, or rules that do not fit
)

// step replaces the registers of a frame by those of its caller.
func (w *row) step(a *Arch, r *Regs, mem *Memory) outcome {
	cfa, ok := w.address(r, mem)
	if !ok {
		return stuck
	}
	next := Regs{known: r.known & a.saved, val: r.val}
	next.Set(a.sp, cfa)
	link, linked := r.get(w.ra) // arm64: a function that did not save its return address
	for i := range w.regs {
		g := &w.regs[i]
		if g.reg == w.ra && g.kind == ruleUndefined {
			return outermost
		}
		v, ok := g.value(cfa, r, mem)
		if g.reg == w.ra {
			link, linked = v, ok
		}
		switch {
		case !ok && g.kind != ruleUndefined && (g.reg == w.ra || g.reg == uint64(a.fp)):
			return stuck // the rest of the stack would be guesswork
		case !ok:
			next.known &^= 1 << g.reg
		default:
			next.Set(uint8(g.reg), v)
		}
	}
	if !linked {
		return stuck
	}
	next.PC = link & a.mask
	if next.PC == 0 {
		return outermost
	}
	if !w.signal {
		next.known &^= 1 << a.ra // it was this frame's
	}
	*r = next
	return stepped
}

func (w *row) address(r *Regs, mem *Memory) (uint64, bool) {
	if w.cfa.kind == ruleExpression {
		return evaluate(w.cfa.code, r, mem)
	}
	v, ok := r.get(w.cfa.reg)
	return v + uint64(w.cfa.off), ok
}

// value is the register's value in the caller.
func (g *regRule) value(cfa uint64, r *Regs, mem *Memory) (uint64, bool) {
	switch g.kind {
	case ruleSame:
		return r.get(g.reg)
	case ruleOffset:
		return mem.Word(cfa + uint64(g.off))
	case ruleValue:
		return cfa + uint64(g.off), true
	case ruleRegister:
		return r.get(g.rule.reg)
	case ruleExpression:
		at, ok := evaluate(g.code, r, mem, cfa)
		if !ok {
			return 0, false
		}
		return mem.Word(at)
	case ruleValueExpr:
		return evaluate(g.code, r, mem, cfa)
	}
	return 0, false
}

// stepFrame goes to the caller by the frame pointer. It is for code without tables
// that keeps one.
func stepFrame(a *Arch, r *Regs, mem *Memory) outcome {
	fp, ok := r.get(uint64(a.fp))
	sp, _ := r.get(uint64(a.sp))
	if !ok || fp < sp || fp&7 != 0 {
		return stuck
	}
	saved, ok := mem.Word(fp)
	if !ok {
		return stuck
	}
	ret, ok := mem.Word(fp + 8)
	if !ok {
		return stuck
	}
	next := Regs{PC: ret & a.mask} // what else the function saved is not known
	next.Set(a.sp, fp+16)
	next.Set(a.fp, saved)
	if next.PC == 0 {
		return outermost
	}
	*r = next
	return stepped
}
