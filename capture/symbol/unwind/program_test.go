package unwind

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// text writes a row with the registers that have a rule.
func text(w *row) string {
	if w == nil {
		return "none"
	}
	b := "exp"
	if w.cfa.kind != ruleExpression {
		b = fmt.Sprintf("%s%+d", name(AMD64, w.cfa.reg), w.cfa.off)
	}
	for _, g := range w.regs {
		b += " " + name(AMD64, g.reg) + "=" + showRule(AMD64, &g.rule)
	}
	return b
}

func TestInstructions(t *testing.T) {
	c := &cie{code: 2, data: -8, ra: 16, program: []byte{0x0c, 7, 8, 0x90, 1}} // def_cfa rsp+8, offset ra 1
	long := make([]byte, 0, 16)
	long = append(long, 0x04)
	long = binary.LittleEndian.AppendUint32(long, 0x10000)
	for _, tt := range []struct {
		name    string
		program []byte
		at      uint64 // from the start
		want    string
	}{
		{"before any", []byte{0x41, 0x0e, 16}, 1, "rsp+8 ra=c-8"},
		{"advance", []byte{0x41, 0x0e, 16}, 2, "rsp+16 ra=c-8"},
		{"advance1", []byte{0x02, 100, 0x0e, 16}, 200, "rsp+16 ra=c-8"},
		{"advance1, before", []byte{0x02, 100, 0x0e, 16}, 199, "rsp+8 ra=c-8"},
		{"advance2", []byte{0x03, 0, 1, 0x0e, 16}, 512, "rsp+16 ra=c-8"},
		{"advance4", append(long, 0x0e, 16), 0x20000, "rsp+16 ra=c-8"},
		{"set_loc", []byte{0x01, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16}, 0x10, "rsp+16 ra=c-8"},
		{"offset", []byte{0x83, 2}, 0, "rsp+8 rbx=c-16 ra=c-8"},
		{"offset_extended", []byte{0x05, 12, 3}, 0, "rsp+8 r12=c-24 ra=c-8"},
		{"offset_extended_sf", []byte{0x11, 12, 0x7f}, 0, "rsp+8 r12=c+8 ra=c-8"},
		{"GNU_negative_offset_extended", []byte{0x2f, 12, 2}, 0, "rsp+8 r12=c+16 ra=c-8"},
		{"restore", []byte{0x83, 2, 0x90, 5, 0xc3, 0xd0}, 0, "rsp+8 ra=c-8"},
		{"restore_extended", []byte{0x05, 12, 3, 0x06, 12}, 0, "rsp+8 ra=c-8"},
		{"undefined", []byte{0x07, 16}, 0, "rsp+8 ra=u"},
		{"same_value", []byte{0x08, 3}, 0, "rsp+8 rbx=s ra=c-8"},
		{"register", []byte{0x09, 16, 2}, 0, "rsp+8 ra=rcx"},
		{"remember and restore", []byte{0x0a, 0x0e, 32, 0x83, 2, 0x0b}, 0, "rsp+8 ra=c-8"},
		{"def_cfa_sf", []byte{0x12, 6, 0x7e}, 0, "rbp+16 ra=c-8"},
		{"def_cfa_register", []byte{0x0d, 6}, 0, "rbp+8 ra=c-8"},
		{"def_cfa_offset_sf", []byte{0x13, 0x7d}, 0, "rsp+24 ra=c-8"},
		{"def_cfa_expression", []byte{0x0f, 2, 0x77, 0}, 0, "exp ra=c-8"},
		{"a register again after it", []byte{0x0f, 2, 0x77, 0, 0x0c, 6, 16}, 0, "rbp+16 ra=c-8"},
		{"expression", []byte{0x10, 3, 2, 0x77, 0}, 0, "rsp+8 rbx=exp ra=c-8"},
		{"val_expression", []byte{0x16, 3, 2, 0x77, 0}, 0, "rsp+8 rbx=vexp ra=c-8"},
		{"val_offset", []byte{0x14, 3, 2}, 0, "rsp+8 rbx=v-16 ra=c-8"},
		{"val_offset_sf", []byte{0x15, 3, 0x7e}, 0, "rsp+8 rbx=v+16 ra=c-8"},
		{"what changes no register", []byte{0x00, 0x2d, 0x2e, 16, 0x0e, 16}, 0, "rsp+16 ra=c-8"},
		{"a vector register", []byte{0x05, 64, 3, 0x06, 64, 0x0e, 16}, 0, "rsp+16 ra=c-8"},

		{"restore without remember", []byte{0x0b}, 0, "none"},
		{"endless remembering", []byte(strings.Repeat("\x0a", 65)), 0, "none"},
		{"unknown", []byte{0x3f}, 0, "none"},
		{"cut short", []byte{0x05, 12}, 0, "none"},
		{"a block too long", []byte{0x0f, 9, 0x77}, 0, "none"},
	} {
		f := &fde{start: 0x1000, size: 1 << 20, program: tt.program}
		w, ok := rowAt(c, f, 0x1000+tt.at)
		if !ok {
			w = nil
		}
		if got := text(w); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSteps(t *testing.T) {
	data := make([]byte, 64)
	for i := range 8 {
		binary.LittleEndian.PutUint64(data[8*i:], 0x100*uint64(i+1))
	}
	mem := &Memory{Base: 0x7000, Data: data}
	cfa := rule{reg: 7, off: 16}
	at := func(reg uint64, off int64) regRule { return regRule{reg, rule{kind: ruleOffset, off: off}} }
	start := AMD64.Start(0x55, 0x7000, []uint64{0xb0, 0x7020, 0xc, 0xd, 0xe, 0xf})
	for _, tt := range []struct {
		name string
		row  row
		end  outcome
		pc   uint64
		rbx  uint64 // 0: not known
	}{
		{"return address in memory", row{cfa: cfa, ra: 16, regs: []regRule{at(16, -8)}}, stepped, 0x200, 0xb0},
		{"saved register", row{cfa: cfa, ra: 16, regs: []regRule{at(3, -16), at(16, -8)}}, stepped, 0x200, 0x100},
		{"by frame pointer", row{cfa: rule{reg: 6, off: 16}, ra: 16, regs: []regRule{at(16, -8)}}, stepped, 0x600, 0xb0},
		{
			"in a register",
			row{cfa: cfa, ra: 16, regs: []regRule{{16, rule{kind: ruleRegister, reg: 12}}}},
			stepped, 0xc,
			0xb0,
		},
		{
			"expression",
			row{cfa: cfa, ra: 16, regs: []regRule{{16, rule{kind: ruleExpression, code: []byte{0x38, 0x1c}}}}},
			stepped, 0x200, 0xb0,
		},
		{"value", row{cfa: cfa, ra: 16, regs: []regRule{{16, rule{kind: ruleValue, off: 1}}}}, stepped, 0x7011, 0xb0},
		{"value of an expression", row{
			cfa: cfa, ra: 16,
			regs: []regRule{{16, rule{kind: ruleValueExpr, code: []byte{0x23, 2}}}},
		}, stepped, 0x7012, 0xb0},
		{"frame by expression", row{
			cfa: rule{kind: ruleExpression, code: []byte{0x77, 24}}, ra: 16,
			regs: []regRule{at(16, -8)},
		}, stepped, 0x300, 0xb0},
		{
			"lost register",
			row{cfa: cfa, ra: 16, regs: []regRule{{3, rule{kind: ruleUndefined}}, at(16, -8)}},
			stepped, 0x200,
			0,
		},
		{"register saved out of reach", row{cfa: cfa, ra: 16, regs: []regRule{at(3, 0x1000), at(16, -8)}}, stepped, 0x200, 0},
		{"outermost", row{cfa: cfa, ra: 16, regs: []regRule{{16, rule{kind: ruleUndefined}}}}, outermost, 0x55, 0xb0},
		{
			"return address out of reach",
			row{cfa: rule{reg: 7, off: 80}, ra: 16, regs: []regRule{at(16, -8)}},
			stuck, 0x55,
			0xb0,
		},
		{"frame pointer out of reach", row{cfa: cfa, ra: 16, regs: []regRule{at(6, -24), at(16, -8)}}, stuck, 0x55, 0xb0},
		{"frame by a register not known", row{cfa: rule{reg: 10}, ra: 16, regs: []regRule{at(16, -8)}}, stuck, 0x55, 0xb0},
		{"no return address", row{cfa: cfa, ra: 16}, stuck, 0x55, 0xb0},
	} {
		r := start
		if end := tt.row.step(AMD64, &r, mem); end != tt.end || r.PC != tt.pc {
			t.Errorf("%s: ended %d at %#x, want %d at %#x", tt.name, end, r.PC, tt.end, tt.pc)
		}
		if got, ok := r.get(3); got != tt.rbx && ok || ok != (tt.rbx != 0) {
			t.Errorf("%s: rbx %#x, %v", tt.name, got, ok)
		}
		if sp, _ := r.get(7); tt.end == stepped && sp <= 0x7000 {
			t.Errorf("%s: stack pointer %#x", tt.name, sp)
		}
	}
}

func TestSignedReturnAddressesOfARM64(t *testing.T) {
	data := make([]byte, 32)
	binary.LittleEndian.PutUint64(data, 0x7020) // frame pointer
	mem := &Memory{Base: 0x7000, Data: data}
	binary.LittleEndian.PutUint64(data[8:], 0x002a_0000_0040_1234)
	w := row{
		cfa: rule{reg: 31, off: 32}, ra: 30,
		regs: []regRule{{29, rule{kind: ruleOffset, off: -32}}, {30, rule{kind: ruleOffset, off: -24}}},
	}
	r := ARM64.Start(0x55, 0x7000, make([]uint64, 11))
	if end := w.step(ARM64, &r, mem); end != stepped || r.PC != 0x401234 {
		t.Errorf("ended %d at %#x", end, r.PC)
	}
	if fp, _ := r.get(29); fp != 0x7020 {
		t.Errorf("frame pointer %#x", fp)
	}
	if _, ok := r.get(30); ok {
		t.Error("the link register is known in the caller")
	}
	// So the walk stops at a function in the middle of a stack that saved no return address.
	if end := (&row{cfa: rule{reg: 31}, ra: 30}).step(ARM64, &r, mem); end != stuck {
		t.Errorf("ended %d", end)
	}
}

func TestFramePointers(t *testing.T) {
	data := make([]byte, 48)
	binary.LittleEndian.PutUint64(data[16:], 0x7030)
	binary.LittleEndian.PutUint64(data[24:], 0x401234)
	mem := &Memory{Base: 0x7000, Data: data}
	for _, tt := range []struct {
		name   string
		sp, fp uint64
		end    outcome
	}{
		{"good", 0x7000, 0x7010, stepped},
		{"no caller", 0x7000, 0x7000, outermost},
		{"below the stack", 0x7018, 0x7010, stuck},
		{"not aligned", 0x7000, 0x7011, stuck},
		{"not copied", 0x7000, 0x7028, stuck},
		{"null", 0x7000, 0, stuck},
	} {
		r := AMD64.Start(0x55, tt.sp, []uint64{1, tt.fp})
		end := stepFrame(AMD64, &r, mem)
		if end != tt.end {
			t.Errorf("%s: ended %d, want %d", tt.name, end, tt.end)
		}
		if fp, _ := r.get(6); end == stepped && (r.PC != 0x401234 || fp != 0x7030) {
			t.Errorf("%s: at %#x, frame pointer %#x", tt.name, r.PC, fp)
		}
	}
}
