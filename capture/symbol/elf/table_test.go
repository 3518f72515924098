package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/cudastub"
)

type testSym struct {
	name  string
	info  byte
	shndx uint16
	value uint64
	size  uint64
}

const (
	global = 0x12 // STB_GLOBAL, STT_FUNC
	local  = 0x02 // STB_LOCAL, STT_FUNC
	object = 0x11 // STB_GLOBAL, STT_OBJECT
)

// section builds a symbol section and its strings.
func section(syms ...testSym) (data, names []byte) {
	names = []byte{0}
	for _, s := range syms {
		e := make([]byte, symSize)
		binary.LittleEndian.PutUint32(e, uint32(len(names)))
		e[4] = s.info
		binary.LittleEndian.PutUint16(e[6:], s.shndx)
		binary.LittleEndian.PutUint64(e[8:], s.value)
		binary.LittleEndian.PutUint64(e[16:], s.size)
		data = append(data, e...)
		names = append(append(names, s.name...), 0)
	}
	return data, names
}

func build(sections ...[]testSym) *table {
	var c collector
	for _, s := range sections {
		data, names := section(s...)
		c.add(data, names, binary.LittleEndian)
	}
	t := &table{readable: map[string]string{}}
	t.syms, t.names = c.finish()
	return t
}

func TestLookUp(t *testing.T) {
	tab := build([]testSym{
		{"last", global, 1, 0x9000, 0x10},
		{"outer", global, 1, 0x1000, 0x100},
		{"inner", local, 1, 0x1040, 0x10},
		{"sizeless", global, 1, 0x2000, 0},
		{"after", global, 1, 0x3000, 0x20},
		{"alone", global, 1, 0x20000, 0},
		{"imported", global, 0, 0x4000, 0x20},
		{"variable", object, 1, 0x5000, 0x20},
		{"", global, 1, 0x6000, 0x20},
	}, []testSym{
		{"__libc_write", global, 1, 0x7000, 8},
		{"write", global, 1, 0x7000, 8},
		{"aa", local, 1, 0x7000, 8},
		{"w", global, 1, 0x7000, 0},
		{"memcpy@@GLIBC_2.14", global, 1, 0x8000, 8},
		{"outer", global, 1, 0x1000, 0x100},
	})
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "outer", 0x103f: "outer", 0x1040: "inner", 0x104f: "inner",
		0x1050: "outer", 0x10ff: "outer", 0x1100: "", 0x2000: "sizeless", 0x2fff: "sizeless",
		0x3000: "after", 0x301f: "after", 0x3020: "", 0x4000: "", 0x5000: "", 0x6000: "",
		0x7000: "write", 0x7007: "write", 0x7008: "", 0x8001: "memcpy", 0x900f: "last", 0x9010: "",
		0x20000: "alone", 0x23fff: "alone", 0x24000: "", 1<<64 - 1: "",
	} {
		if got := tab.symbol(addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	if n := len(tab.syms); n != 8 {
		t.Errorf("%d symbols kept, want 8", n)
	}
}

func TestReadableNames(t *testing.T) {
	for linked, want := range map[string]string{
		"main": "main",
		"_Z19ggml_cuda_op_add_idR25ggml_backend_cuda_contextP11ggml_tensor": "ggml_cuda_op_add_id(" +
			"ggml_backend_cuda_context&, ggml_tensor*)",
		"_ZL99__device_stub__Z33flash_attn_stream_k_fixup_generalILi512ELi4ELi16EEvPfPK6float2iiii5uint3S4_S4_S4_" +
			"PfPK6float2iiiiRK5uint3S5_S5_S5_": "__device_stub_flash_attn_stream_k_fixup_general<512, 4, 16>(" +
			"float*, float2 const*, int, int, int, int, uint3, uint3, uint3, uint3)",
		"_Z18__device_stub__foov": "__device_stub__foo()",
	} {
		if got := readable(linked); got != want {
			t.Errorf("%s: got %s, want %s", linked, got, want)
		}
	}
}

func TestAddressesComeFromTheCodeSegment(t *testing.T) {
	tab := table{segments: []segment{{0x1000, 0x500, 0x401000}, {0x3000, 0x10, 0x803000}}}
	for off, want := range map[uint64]uint64{
		0xfff: 0, 0x1000: 0x401000, 0x14ff: 0x4014ff, 0x1500: 0, 0x3008: 0x803008,
		0x3010: 0,
	} {
		if got, ok := tab.virtual(off); got != want || ok != (want != 0) {
			t.Errorf("%#x: got %#x, %v", off, got, ok)
		}
	}
}

func TestTablesAreBounded(t *testing.T) {
	id := func(n int) fileID { return fileID{"fe:00", uint64(n)} }
	big := func(n int) *table { return &table{names: strings.Repeat("x", n)} }
	c := newTables(3, 10_000)
	for n := range 5 {
		c.put(id(n), big(100))
		c.get(id(0)) // stays in use
	}
	if len(c.byID) != 3 || c.get(id(0)) == nil || c.get(id(4)) == nil || c.get(id(1)) != nil {
		t.Errorf("kept %v", c.byID)
	}
	c.put(id(7), big(9_000)) // the others are dropped
	if len(c.byID) != 1 || c.bytes != big(9_000).size() {
		t.Errorf("kept %d tables, %d bytes", len(c.byID), c.bytes)
	}
	c.put(id(8), big(20_000)) // too large for the bound, but needed now
	if len(c.byID) != 1 || c.get(id(8)) == nil {
		t.Errorf("kept %v", c.byID)
	}
	c.put(id(8), big(10))
	if len(c.byID) != 1 || c.bytes != big(10).size() {
		t.Errorf("kept %d tables, %d bytes after a replacement", len(c.byID), c.bytes)
	}
}

// FuzzLoad checks that no file makes the reader panic: traced processes choose
// the files.
func FuzzLoad(f *testing.F) {
	if files, err := cudastub.Extract(f.TempDir()); err == nil {
		b, err := os.ReadFile(filepath.Join(files.LibDir, "libcuda.so.1"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint64(0x1000))
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"), uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		tab := load(bytes.NewReader(b))
		tab.symbol(addr)
		tab.virtual(addr)
		for i := range tab.syms {
			if tab.name(i) == "" {
				t.Fatalf("symbol %d has no name", i)
			}
			if i > 0 && tab.syms[i].addr <= tab.syms[i-1].addr {
				t.Fatalf("symbol %d is out of order", i)
			}
		}
	})
}

func FuzzSymbols(f *testing.F) {
	data, names := section(testSym{"a", global, 1, 10, 5}, testSym{"b@V", local, 1, 12, 0})
	f.Add(data, names, uint64(11))
	f.Fuzz(func(t *testing.T, data, names []byte, addr uint64) {
		var c collector
		c.add(data, names, binary.LittleEndian)
		tab := &table{readable: map[string]string{}}
		tab.syms, tab.names = c.finish()
		if i := tab.find(addr); i >= 0 && tab.syms[i].addr > addr {
			t.Fatalf("symbol at %#x for %#x", tab.syms[i].addr, addr)
		}
		tab.symbol(addr)
	})
}
