package unwind

import (
	"bytes"
	"slices"

	"github.com/ingero-io/ingero/capture/limit"
)

// Call frame instructions, DW_CFA_* (DWARF 5, section 6.4.2, and GNU's). The
// first three have their operand in the low six bits.
const (
	cfaAdvance       = 0x40
	cfaOffset        = 0x80
	cfaRestore       = 0xc0
	cfaNop           = 0x00
	cfaSetLoc        = 0x01
	cfaAdvance1      = 0x02
	cfaAdvance2      = 0x03
	cfaAdvance4      = 0x04
	cfaOffsetExt     = 0x05
	cfaRestoreExt    = 0x06
	cfaUndefined     = 0x07
	cfaSameValue     = 0x08
	cfaRegister      = 0x09
	cfaRemember      = 0x0a
	cfaRestoreState  = 0x0b
	cfaDefCFA        = 0x0c
	cfaDefCFAReg     = 0x0d
	cfaDefCFAOffset  = 0x0e
	cfaDefCFAExpr    = 0x0f
	cfaExpression    = 0x10
	cfaOffsetExtSF   = 0x11
	cfaDefCFASF      = 0x12
	cfaDefCFAOffSF   = 0x13
	cfaValOffset     = 0x14
	cfaValOffsetSF   = 0x15
	cfaValExpression = 0x16
	cfaNegateRAState = 0x2d // arm64: whether the return address is signed; GNU_window_save elsewhere
	cfaGNUArgsSize   = 0x2e
	cfaGNUNegative   = 0x2f
)

// maxRemembered bounds the states that a program may save.
const maxRemembered = 64

// machine runs call frame instructions.
type machine struct {
	cursor
	cie        *cie
	target     uint64 // stops before the first row past this address
	loc        uint64
	here       uint64 // address of the program's first byte, for set_loc
	now        state
	initial    *state // what restore goes back to: the state after the CIE's program
	remembered []state
}

// state is a row under construction.
type state struct {
	cfa  rule
	regs [numRegs]rule
}

// runProgram executes until the end or the row that holds the target. It returns false
// for instructions it does not know, and for damaged ones.
func (m *machine) runProgram() bool {
	for m.left() > 0 && !m.bad {
		op := m.u8()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvance:
			if m.advance(low) {
				return true
			}
		case cfaOffset:
			m.set(low, rule{kind: ruleOffset, off: int64(m.uleb()) * m.cie.data})
		case cfaRestore:
			m.restore(low)
		default:
			done, ok := m.extended(op)
			if done || !ok {
				return ok && !m.bad
			}
		}
	}
	return !m.bad
}

// advance adds to the location and reports whether it is past the target.
func (m *machine) advance(by uint64) bool {
	m.loc += by * m.cie.code
	return m.loc > m.target
}

func (m *machine) set(reg uint64, r rule) {
	if reg < numRegs {
		m.now.regs[reg] = r
	}
}

func (m *machine) restore(reg uint64) {
	if reg >= numRegs {
		return
	}
	m.now.regs[reg] = rule{}
	if m.initial != nil {
		m.now.regs[reg] = m.initial.regs[reg]
	}
}

func (m *machine) extended(op uint8) (done, ok bool) {
	switch op {
	case cfaNop, cfaNegateRAState:
	case cfaGNUArgsSize:
		m.uleb()
	case cfaSetLoc:
		at := m.here + uint64(m.at)
		to, ok := m.pointer(m.cie.enc, at, 0)
		if !ok {
			return false, false
		}
		m.loc = to
		return m.loc > m.target, true
	case cfaAdvance1:
		return m.advance(uint64(m.u8())), true
	case cfaAdvance2:
		return m.advance(uint64(m.u16())), true
	case cfaAdvance4:
		return m.advance(uint64(m.u32())), true
	case cfaRemember:
		if len(m.remembered) >= maxRemembered {
			return false, false
		}
		m.remembered = append(m.remembered, m.now)
	case cfaRestoreState:
		n := len(m.remembered) - 1
		if n < 0 {
			return false, false
		}
		m.now, m.remembered = m.remembered[n], m.remembered[:n]
	case cfaDefCFA, cfaDefCFASF, cfaDefCFAReg, cfaDefCFAOffset, cfaDefCFAOffSF, cfaDefCFAExpr:
		m.defineCFA(op)
	default:
		return false, m.register(op)
	}
	return false, true
}

func (m *machine) defineCFA(op uint8) {
	c := &m.now.cfa
	switch op {
	case cfaDefCFA:
		*c = rule{reg: m.uleb()}
		c.off = int64(m.uleb())
	case cfaDefCFASF:
		*c = rule{reg: m.uleb()}
		c.off = m.sleb() * m.cie.data
	case cfaDefCFAReg:
		*c = rule{reg: m.uleb(), off: c.off}
	case cfaDefCFAOffset:
		c.off = int64(m.uleb())
	case cfaDefCFAOffSF:
		c.off = m.sleb() * m.cie.data
	case cfaDefCFAExpr:
		*c = rule{kind: ruleExpression, code: m.block()}
	}
}

func (m *machine) block() []byte { return m.bytes(m.uleb()) }

// register executes the instructions that set one register's rule.
func (m *machine) register(op uint8) bool {
	reg := m.uleb()
	switch op {
	case cfaOffsetExt:
		m.set(reg, rule{kind: ruleOffset, off: int64(m.uleb()) * m.cie.data})
	case cfaOffsetExtSF:
		m.set(reg, rule{kind: ruleOffset, off: m.sleb() * m.cie.data})
	case cfaGNUNegative:
		m.set(reg, rule{kind: ruleOffset, off: -int64(m.uleb()) * m.cie.data})
	case cfaRestoreExt:
		m.restore(reg)
	case cfaUndefined:
		m.set(reg, rule{kind: ruleUndefined})
	case cfaSameValue:
		m.set(reg, rule{kind: ruleSame})
	case cfaRegister:
		m.set(reg, rule{kind: ruleRegister, reg: m.uleb()})
	case cfaExpression:
		m.set(reg, rule{kind: ruleExpression, code: m.block()})
	case cfaValOffset:
		m.set(reg, rule{kind: ruleValue, off: int64(m.uleb()) * m.cie.data})
	case cfaValOffsetSF:
		m.set(reg, rule{kind: ruleValue, off: m.sleb() * m.cie.data})
	case cfaValExpression:
		m.set(reg, rule{kind: ruleValueExpr, code: m.block()})
	default:
		return false
	}
	return true
}

// rowAt runs a function's instructions up to an address.
func rowAt(c *cie, f *fde, pc uint64) (*row, bool) {
	m := machine{cursor: cursor{b: c.program}, cie: c, target: ^uint64(0), here: c.programAt}
	if !m.runProgram() {
		return nil, false
	}
	initial := m.now
	m = machine{
		cursor: cursor{b: f.program}, cie: c, target: pc, loc: f.start, here: f.programAt, now: initial,
		initial: &initial,
	}
	if !m.runProgram() {
		return nil, false
	}
	if len(m.now.cfa.code) > limit.UnwindRow {
		return nil, false
	}
	w := &row{cfa: m.now.cfa, ra: c.ra, signal: c.signal}
	w.cfa.code = bytes.Clone(w.cfa.code) // not the whole section
	size := len(w.cfa.code)
	for i, r := range m.now.regs {
		if r.kind != ruleUnset {
			if size += len(r.code); size > limit.UnwindRow {
				return nil, false
			}
			r.code = bytes.Clone(r.code)
			w.regs = append(w.regs, regRule{uint64(i), r})
		}
	}
	w.regs = slices.Clip(w.regs)
	return w, true
}
