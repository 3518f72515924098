package probe

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/symbol/python"
)

// pyCode is a code object on line 10 whose table gives 2 bytes to each line.
func pyCode(id uint64, name string, at uint32, piece ...byte) []byte {
	r := bpf.WirePycodeRec{
		H: bpf.WireHdr{
			Start: 100, Tid: 1, Kind: uint8(bpf.WireKindKIND_PYCODE),
			Sub: uint8(bpf.WirePyTablePY_TABLE_LNOTAB),
		},
		Tgid: 11,
		Code: id, Firstline: 10, TableBytes: 6, TableAt: at,
		NameStr: bpf.WirePyStr{Length: uint32(len(name)), State: 1 << 2}, FileStr: bpf.WirePyStr{Length: 4, State: 1 << 2},
	}
	copy(r.Name[:], name)
	copy(r.File[:], "t.py")
	copy(r.Table[:], piece)
	return wire(r)[:int(unsafe.Offsetof(r.Table))+len(piece)]
}

func pyStack(tid uint32, start, hash uint64, flags uint32, frames ...bpf.WirePyFrame) []byte {
	r := bpf.WirePystackRec{
		H: bpf.WireHdr{Start: start, Tid: tid, Kind: uint8(bpf.WireKindKIND_PYSTACK)}, Tgid: 11,
		N: uint32(len(frames)), Hash: hash, Flags: flags,
	}
	copy(r.F[:], frames)
	return wire(r)[:int(unsafe.Offsetof(r.F))+16*len(frames)]
}

func pyFrame(code uint64, instr int32) bpf.WirePyFrame {
	return bpf.WirePyFrame{Code: code, Instr: instr}
}

// pythonOf words the Python frames of a call's stack.
func pythonOf(r *Records, call int) (s []string) {
	i := slices.IndexFunc(r.Stacks, func(s RawStack) bool { return s.ID == r.Calls[call].Stack })
	if i < 0 {
		return nil
	}
	for _, f := range r.Stacks[i].Python {
		s = append(s, f.Symbol+string(rune('0'+f.Line/10))+string(rune('0'+f.Line%10)))
	}
	return s
}

func TestPythonStackBelongsToTheNextCallOfItsThread(t *testing.T) {
	r := decodeAll(
		pyCode(7, "f", 0, 2, 1, 2, 1), pyCode(7, "f", 4, 2, 1), pyCode(8, "g", 0, 2, 1, 2, 1, 2, 1),
		pyStack(1, 100, 0xabc, 0, pyFrame(7, 6), pyFrame(8, 2)),
		stackRec(1, 100, 0xa, 0),
		wire(callRec(2, 100)), // another thread
		wire(callRec(1, 100)),
		wire(callRec(1, 110)),                            // had none
		pyStack(1, 120, 0xabc, 0), wire(callRec(1, 120)), // seen before; its native stack was dropped
		pyStack(1, 130, 0xabc, 0), stackRec(1, 130, 0xb, 0), wire(callRec(1, 130)), // from another place in C
		pyStack(1, 140, 0xdef, uint32(bpf.WirePystackFlagPYSTACK_CUT), pyFrame(8, 0)), wire(callRec(1, 140)),
		pyStack(1, 150, 0xabc, 0), wire(callRec(1, 160)), // its own call was dropped
	)
	want := [][]string{nil, {"f13", "g11"}, nil, {"f13", "g11"}, {"f13", "g11"}, {"g10", python.Cut().Symbol + "00"}, nil}
	for i, w := range want {
		if got := pythonOf(r, i); !slices.Equal(got, w) {
			t.Errorf("call %d has %v, want %v", i, got, w)
		}
	}
	if a, b, c := r.Calls[1].Stack, r.Calls[3].Stack, r.Calls[4].Stack; a == b || a == c || b == c {
		t.Errorf("different stacks have the ids %x, %x, %x", a, b, c)
	}
	if len(r.Stacks[0].Addrs) != 1 || r.Malformed != 0 {
		t.Errorf("stack %+v, %d malformed", r.Stacks[0], r.Malformed)
	}
}

func TestMissingPythonRecordsAreRequestedAgain(t *testing.T) {
	for name, records := range map[string][][]byte{
		"a stack that was sent before": {pyStack(1, 100, 0xabc, 0)},
		"a code object":                {pyStack(1, 100, 0xabc, 0, pyFrame(7, 0))},
		"a piece of a table":           {pyCode(7, "f", 4, 2, 1)},
	} {
		d, r := newDecoder(offset, new(wordUnwinder), proc.New("")), new(Records)
		for _, b := range append(records, wire(callRec(1, 100))) {
			d.record(b, r)
		}
		if !d.python.again[11] || r.Malformed != 0 {
			t.Errorf("%s is not asked for; %d malformed", name, r.Malformed)
		}
	}
}

func TestPythonRecordsOfTheWrongSizeAreMalformed(t *testing.T) {
	long := make([]byte, 5000)
	copy(long, pyCode(7, "f", 0))
	tooMany := pyStack(1, 100, 0xabc, 0, pyFrame(7, 0), pyFrame(7, 2))
	r := decodeAll(pyCode(7, "f", 0)[:800], pyStack(1, 100, 1, 0)[:36], aligned(long), tooMany[:len(tooMany)-16],
		pyCode(7, "f", 9))
	if r.Malformed != 5 {
		t.Errorf("%d malformed, want 5", r.Malformed)
	}
}
