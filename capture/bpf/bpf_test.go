package bpf_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/blockio"
	"github.com/ingero-io/ingero/capture/probe/call"
	"github.com/ingero-io/ingero/capture/probe/gpukernel"
	"github.com/ingero-io/ingero/capture/probe/inflight"
	"github.com/ingero-io/ingero/capture/probe/memory"
	"github.com/ingero-io/ingero/capture/probe/pages"
	"github.com/ingero-io/ingero/capture/probe/sched"
	"github.com/ingero-io/ingero/capture/probe/syscalls"
	"github.com/ingero-io/ingero/capture/probe/tcp"
	"github.com/ingero-io/ingero/event"
)

// mirrors are the wire records by their name in C.
var mirrors = map[string]reflect.Type{
	"hdr":           reflect.TypeFor[bpf.WireHdr](),
	"led":           reflect.TypeFor[bpf.WireLed](),
	"culprit":       reflect.TypeFor[bpf.WireCulprit](),
	"call_rec":      reflect.TypeFor[bpf.WireCallRec](),
	"call_led_rec":  reflect.TypeFor[bpf.WireCallLedRec](),
	"gap_rec":       reflect.TypeFor[bpf.WireGapRec](),
	"off_rec":       reflect.TypeFor[bpf.WireOffRec](),
	"off_full_rec":  reflect.TypeFor[bpf.WireOffFullRec](),
	"total_rec":     reflect.TypeFor[bpf.WireTotalRec](),
	"life_rec":      reflect.TypeFor[bpf.WireLifeRec](),
	"stack_rec":     reflect.TypeFor[bpf.WireStackRec](),
	"stall_rec":     reflect.TypeFor[bpf.WireStallRec](),
	"reclaim_rec":   reflect.TypeFor[bpf.WireReclaimRec](),
	"sock_rec":      reflect.TypeFor[bpf.WireSockRec](),
	"py_proc":       reflect.TypeFor[bpf.WirePyProc](),
	"py_str":        reflect.TypeFor[bpf.WirePyStr](),
	"py_frame":      reflect.TypeFor[bpf.WirePyFrame](),
	"pycode_rec":    reflect.TypeFor[bpf.WirePycodeRec](),
	"pystack_rec":   reflect.TypeFor[bpf.WirePystackRec](),
	"name_rec":      reflect.TypeFor[bpf.WireNameRec](),
	"name_long_rec": reflect.TypeFor[bpf.WireNameLongRec](),
	"flight_rec":    reflect.TypeFor[bpf.WireFlightRec](),
	"flight_call":   reflect.TypeFor[bpf.WireFlightCall](),
	"return_addr":   reflect.TypeFor[bpf.WireReturnAddr](),
	"returns":       reflect.TypeFor[bpf.WireReturns](),
	"request_rec":   reflect.TypeFor[bpf.WireRequestRec](),
	"request_key":   reflect.TypeFor[bpf.WireRequestKey](),
	"request_sum":   reflect.TypeFor[bpf.WireRequestSum](),
	"tcp_rec":       reflect.TypeFor[bpf.WireTcpRec](),
	"mark_rec":      reflect.TypeFor[bpf.WireMarkRec](),
}

// varying are the records that are not reserved in the ring: those that end before
// their last member does are copied to it, and an iterator writes its own.
var varying = []string{"pycode_rec", "pystack_rec", "flight_rec"}

// objects are all compiled programs, of both architectures, and what the probes
// embed for this one.
func objects(t *testing.T) map[string]*ebpf.CollectionSpec {
	t.Helper()
	files, err := filepath.Glob("../probe/*/*_bpfel.o")
	if err != nil || len(files) == 0 {
		t.Fatalf("no probe objects: %v", err)
	}
	specs := map[string]*ebpf.CollectionSpec{}
	for _, f := range files {
		if specs[f], err = ebpf.LoadCollectionSpec(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, load := range map[string]func() (*ebpf.CollectionSpec, error){
		"types": bpf.LoadWire, "call": call.LoadCall, "session": call.LoadSession,
		"session with context": call.LoadSessionCtx, "sched": sched.LoadSched, "memory": memory.LoadMemory,
		"gpukernel": gpukernel.LoadName, "inflight": inflight.LoadInFlight, "blockio": blockio.LoadBlockio,
		"tcp": tcp.LoadTcp, "syscalls": syscalls.LoadSyscalls, "pages": pages.LoadPages,
	} {
		if specs[name], err = load(); err != nil {
			t.Fatal(err)
		}
	}
	return specs
}

// TestGoReadsWhatProbesWrite compares the records with their mirror wherever
// they are in an object's BTF. The compiler leaves out what no map or function
// prototype mentions, so a probe may have none: TestProbesReserveWholeRecords
// looks at its instructions instead.
func TestGoReadsWhatProbesWrite(t *testing.T) {
	for object, spec := range objects(t) {
		seen := 0
		for name, mirror := range mirrors {
			var s *btf.Struct
			if err := spec.Types.TypeByName(name, &s); err != nil {
				continue
			}
			seen++
			for _, difference := range compare(s, mirror, name) {
				t.Errorf("%s: %s", object, difference)
			}
		}
		if object == "types" && seen != len(mirrors) {
			t.Errorf("types object has %d of %d records", seen, len(mirrors))
		}
	}
}

// TestProbesReserveWholeRecords checks that the programs ask for ring buffer
// memory in the sizes of the Go records.
func TestProbesReserveWholeRecords(t *testing.T) {
	sizes := map[int64]string{}
	for name, mirror := range mirrors {
		if !strings.HasSuffix(name, "_rec") || slices.Contains(varying, name) {
			continue
		}
		size := int64(mirror.Size())
		if name != "stack_rec" {
			sizes[size] = name
			continue
		}
		// ustack.h
		for _, data := range []int64{1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10} {
			sizes[size+data] = name
		}
	}
	written := map[string]bool{}
	for object, spec := range objects(t) {
		for name, p := range spec.Programs {
			size := int64(-1) // what register 2 holds
			for _, in := range p.Instructions {
				switch {
				case in.OpCode.Class().IsALU() && in.OpCode.ALUOp() == asm.Mov && in.OpCode.Source() == asm.ImmSource &&
					in.Dst == asm.R2:
					size = in.Constant
				case in.IsBuiltinCall() && asm.BuiltinFunc(in.Constant) == asm.FnRingbufReserve:
					if sizes[size] == "" {
						t.Errorf("%s: %s reserves %d bytes, which is no record", object, name, size)
					}
					written[sizes[size]] = true
				}
			}
		}
	}
	for _, name := range sizes {
		if !written[name] {
			t.Errorf("no program writes a %s", name)
		}
	}
}

// TestProbesShareTheirState checks what the objects do have: the maps they share
// and the state of a thread, which one of them writes and another one reads.
func TestProbesShareTheirState(t *testing.T) {
	shared := map[string][]string{} // map by name: its layout, and which objects have it
	for object, spec := range objects(t) {
		for name, m := range spec.Maps {
			if strings.HasPrefix(name, ".") || m.Type == ebpf.RingBuf {
				continue
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s key %d value %d entries %d flags %d\n", m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags)
			if m.Value != nil {
				layout(&b, m.Value, 0)
			}
			if have := shared[name]; len(have) > 0 && have[0] != b.String() {
				t.Errorf("%s: map %s is\n%s\nbut in %v\n%s", object, name, b.String(), have[1:], have[0])
			} else if len(have) > 0 {
				shared[name] = append(have, object)
			} else {
				shared[name] = []string{b.String(), object}
			}
		}
	}
	for _, name := range []string{"threads", "limits", "losses"} {
		if n := len(shared[name]); n < 5 {
			t.Errorf("map %s is in %d objects only", name, max(n-1, 0))
		}
	}
	if have := shared["threads"]; len(have) > 0 && !strings.Contains(have[0], "oncpu") {
		t.Errorf("the layout of a thread's state is not compared:\n%s", have[0])
	}
}

// TestTablesByOperationHaveASlotForEach checks OP_SLOTS in C, by which the programs find
// an operation's limits, against event.OpSlots.
func TestTablesByOperationHaveASlotForEach(t *testing.T) {
	seen := 0
	for object, spec := range objects(t) {
		if m := spec.Maps["limits"]; m != nil {
			if seen++; m.MaxEntries != event.OpSlots {
				t.Errorf("%s: limits has %d entries, event.OpSlots is %d", object, m.MaxEntries, event.OpSlots)
			}
		}
	}
	if seen < 5 {
		t.Errorf("limits is in %d objects only", seen)
	}
}

// layout writes the members of a type with their offsets.
func layout(b *strings.Builder, t btf.Type, depth int) {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		for _, m := range t.Members {
			fmt.Fprintf(b, "%*s%s at %d\n", 2*depth, "", m.Name, m.Offset.Bytes())
			layout(b, m.Type, depth+1)
		}
	case *btf.Array:
		fmt.Fprintf(b, "%*s%d times\n", 2*depth, "", t.Nelems)
		layout(b, t.Type, depth+1)
	case *btf.Int:
		fmt.Fprintf(b, "%*s%d bytes, %v\n", 2*depth, "", t.Size, t.Encoding)
	}
}

// compare lists how a C struct and its Go mirror differ.
func compare(s *btf.Struct, mirror reflect.Type, path string) (differences []string) {
	add := func(what ...string) { differences = append(differences, path+": "+strings.Join(what, "")) }
	if uintptr(s.Size) != mirror.Size() {
		add("sizes differ")
	}
	fields := reflect.VisibleFields(mirror)[1:] // the first is structs.HostLayout
	if len(fields) != len(s.Members) {
		add("numbers of members differ")
		return differences
	}
	end := uint32(0)
	for i, m := range s.Members {
		f := fields[i]
		if camel(m.Name) != f.Name {
			add("member ", m.Name, " is ", f.Name, " in Go")
			continue
		}
		if uintptr(m.Offset.Bytes()) != f.Offset {
			add("offsets of ", m.Name, " differ")
		}
		size, err := btf.Sizeof(m.Type)
		if err != nil || uintptr(size) != f.Type.Size() {
			add("sizes of ", m.Name, " differ")
		}
		if m.Offset.Bytes() != end {
			add("implicit padding before ", m.Name)
		}
		end = m.Offset.Bytes() + uint32(size)
		differences = append(differences, compareType(m.Type, f.Type, path+"."+m.Name)...)
	}
	if end != s.Size {
		add("implicit padding at the end")
	}
	return differences
}

func compareType(c btf.Type, g reflect.Type, path string) []string {
	switch c := btf.UnderlyingType(c).(type) {
	case *btf.Struct:
		return compare(c, g, path)
	case *btf.Array:
		if g.Kind() != reflect.Array || g.Len() != int(c.Nelems) {
			return []string{path + ": lengths differ"}
		}
		return compareType(c.Type, g.Elem(), path+"[]")
	case *btf.Int:
		signed := g.Kind() >= reflect.Int && g.Kind() <= reflect.Int64
		if c.Encoding != btf.Char && signed != (c.Encoding == btf.Signed) {
			return []string{path + ": signs differ"}
		}
		return nil
	default:
		return []string{path + ": not a number, array or struct"}
	}
}

// camel converts waker_tgid to WakerTgid.
func camel(s string) string {
	var b strings.Builder
	for w := range strings.SplitSeq(s, "_") {
		if w != "" {
			b.WriteRune(unicode.ToUpper(rune(w[0])))
			b.WriteString(w[1:])
		}
	}
	return b.String()
}

// enum returns the values of a C enumeration by name.
func enum(t *testing.T, name string) map[string]uint64 {
	t.Helper()
	spec, err := bpf.LoadWire()
	if err != nil {
		t.Fatal(err)
	}
	var e *btf.Enum
	if err := spec.Types.TypeByName(name, &e); err != nil {
		t.Fatalf("enum %s: %v", name, err)
	}
	values := map[string]uint64{}
	for _, v := range e.Values {
		values[v.Name] = v.Value
	}
	return values
}

// number pairs a number of the wire with the public one.
type number[W, E ~uint8 | ~uint32] struct {
	wire  W
	event E
}

// same checks pairs of numbers, and that a C enumeration has no more.
func same[W, E ~uint8 | ~uint32](t *testing.T, name string, end int, pairs []number[W, E]) {
	t.Helper()
	for _, p := range pairs {
		if uint32(p.wire) != uint32(p.event) {
			t.Errorf("%s: %d on the wire is %v in package event", name, p.wire, p.event)
		}
	}
	if n := len(enum(t, name)); n != len(pairs)+end {
		t.Errorf("enum %s has %d values, the test knows %d", name, n, len(pairs)+end)
	}
}

func TestLossesHaveTheirNumbersOnTheWire(t *testing.T) {
	pairs := []number[bpf.WireLoss, event.LossKind]{
		{bpf.WireLossLOSS_CALL, event.LostCall},
		{bpf.WireLossLOSS_GAP, event.LostGap},
		{bpf.WireLossLOSS_OFF, event.LostOffCPU},
		{bpf.WireLossLOSS_TOTAL, event.LostThreadTime},
		{bpf.WireLossLOSS_LIFE, event.LostLife},
		{bpf.WireLossLOSS_STACK, event.LostStack},
		{bpf.WireLossLOSS_NESTED, event.LostNested},
		{bpf.WireLossLOSS_THREAD, event.LostThread},
		{bpf.WireLossLOSS_UNMATCHED, event.LostUnmatched},
		{bpf.WireLossLOSS_UNFINISHED, event.LostUnfinished},
		{bpf.WireLossLOSS_SWITCH, event.LostSwitch},
		{bpf.WireLossLOSS_HEALED, event.LostHealed},
		{bpf.WireLossLOSS_WAKE, event.LostWake},
		{bpf.WireLossLOSS_OFF_THINNED, event.LostOffCPUThinned},
		{bpf.WireLossLOSS_STALL, event.LostStall},
		{bpf.WireLossLOSS_RECLAIM, event.LostReclaim},
		{bpf.WireLossLOSS_SOCK, event.LostSocket},
		{bpf.WireLossLOSS_NAME, event.LostName},
		{bpf.WireLossLOSS_COMM, event.LostComm},
		{bpf.WireLossLOSS_REQUEST, event.LostRequest},
		{bpf.WireLossLOSS_REQUEST_THINNED, event.LostRequestThinned},
		{bpf.WireLossLOSS_TCP, event.LostConnection},
		{bpf.WireLossLOSS_FOOTPRINT, event.LostFootprint},
		{bpf.WireLossLOSS_PAGES, event.LostPages},
		{bpf.WireLossLOSS_MARK, event.LostMark},
		{bpf.WireLossLOSS_CODE, event.LostCode},
	}
	same(t, "loss", 1, pairs)
	for _, p := range pairs {
		if p.event == event.LostStored || p.event == event.LostLate {
			t.Errorf("the kernel counts what user space does: %v", p.event)
		}
	}
	if event.NumLossKinds > event.LossKind(bpf.WireLossNLOSS) {
		t.Errorf("%d kinds of losses, %d slots", event.NumLossKinds, bpf.WireLossNLOSS)
	}
}

func TestReclaimsHaveTheirNumbersOnTheWire(t *testing.T) {
	same(t, "reclaim", 0, []number[bpf.WireReclaim, event.ReclaimKind]{
		{bpf.WireReclaimRECLAIM_DIRECT, event.ReclaimDirect},
		{bpf.WireReclaimRECLAIM_MEMCG, event.ReclaimCgroup},
		{bpf.WireReclaimRECLAIM_COMPACT, event.ReclaimCompaction},
	})
}

func TestClassesHaveTheirNumbersOnTheWire(t *testing.T) {
	same(t, "class", 1, []number[bpf.WireClass, event.Class]{
		{bpf.WireClassCLASS_RUNQ, event.RunQueue},
		{bpf.WireClassCLASS_THROTTLED, event.Throttled},
		{bpf.WireClassCLASS_FUTEX, event.Futex},
		{bpf.WireClassCLASS_BLKIO, event.BlockIO},
		{bpf.WireClassCLASS_FAULT, event.Fault},
		{bpf.WireClassCLASS_NET, event.Network},
		{bpf.WireClassCLASS_PIPE, event.Pipe},
		{bpf.WireClassCLASS_POLL, event.Poll},
		{bpf.WireClassCLASS_SLEEP, event.Sleep},
		{bpf.WireClassCLASS_IOCTL, event.Ioctl},
		{bpf.WireClassCLASS_OTHER, event.Other},
	})
	if uint32(bpf.WireClassNCLASS) != uint32(event.NumClasses) {
		t.Errorf("%d classes on the wire, %d in package event", bpf.WireClassNCLASS, event.NumClasses)
	}
}

func TestLivesHaveTheirNumbersOnTheWire(t *testing.T) {
	same(t, "life", 0, []number[bpf.WireLife, event.LifeKind]{
		{bpf.WireLifeLIFE_FORK, event.LifeFork},
		{bpf.WireLifeLIFE_EXEC, event.LifeExec},
		{bpf.WireLifeLIFE_EXIT, event.LifeExit},
		{bpf.WireLifeLIFE_FIRST, event.LifeFirst},
		{bpf.WireLifeLIFE_UNFINISHED, event.LifeUnfinished},
		{bpf.WireLifeLIFE_OOM, event.LifeOOM},
	})
}

func TestNamesOfKernelsHaveTheirNumbersOnTheWire(t *testing.T) {
	same(t, "name", 0, []number[bpf.WireName, probe.NameKind]{
		{bpf.WireNameNAME_REGISTERED, probe.NameRegistered},
		{bpf.WireNameNAME_LOADED, probe.NameLoaded},
		{bpf.WireNameNAME_SAME, probe.NameSame},
	})
}
