package probe

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/probe/inflight"
	"github.com/ingero-io/ingero/capture/probe/sched"
)

// fakeRing is a ring whose kernel side is played by the test.
type fakeRing struct {
	*ring
	size uint64
}

func newFakeRing(size uint64) fakeRing {
	words := make([]uint64, size/8) // for the alignment
	return fakeRing{&ring{
		consumer: new(uint64), producer: new(uint64),
		data: unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size),
		mask: size - 1,
	}, size}
}

func (r fakeRing) put(at uint64, b byte) {
	r.data[at&r.mask] = b
}

// flags sets a record's header.
func (r fakeRing) flags(at uint64, header uint32) {
	for i, b := range binary.LittleEndian.AppendUint32(nil, header) {
		r.put(at+uint64(i), b)
	}
}

// reserve does what bpf_ringbuf_reserve does: the record is busy. ok is false
// if it does not fit.
func (r fakeRing) reserve(record []byte) (at uint64, ok bool) {
	at = *r.producer
	next := at + (uint64(len(record))+ringHeader+7)&^7
	if next-*r.consumer > r.mask {
		return 0, false
	}
	r.flags(at, uint32(len(record))|ringBusy)
	for i, b := range record {
		r.put(at+ringHeader+uint64(i), b)
	}
	*r.producer = next
	return at, true
}

func (r fakeRing) submit(t *testing.T, record string) {
	t.Helper()
	at, ok := r.reserve([]byte(record))
	if !ok {
		t.Fatal("fake ring is full")
	}
	r.flags(at, uint32(len(record)))
}

func (r fakeRing) read(limit int) (records []string, n int) {
	n = r.drain(limit, func(b []byte) { records = append(records, string(b)) })
	return records, n
}

func TestDrainStopsAtAnUnfinishedRecord(t *testing.T) {
	r := newFakeRing(256)
	r.submit(t, "one")
	at, _ := r.reserve([]byte("two"))
	r.submit(t, "three")
	if got, n := r.read(10); !reflect.DeepEqual(got, []string{"one"}) || n != 1 {
		t.Errorf("got %q, %d", got, n)
	}
	if *r.consumer != at {
		t.Errorf("consumer at %d, want %d", *r.consumer, at)
	}
	if got, n := r.read(10); got != nil || n != 0 || *r.consumer != at {
		t.Errorf("got %q, %d while the record is busy", got, n)
	}
	r.flags(at, 3)
	if got, _ := r.read(10); !reflect.DeepEqual(got, []string{"two", "three"}) {
		t.Errorf("got %q after the commit", got)
	}
	if *r.consumer != *r.producer || r.fill() != 0 {
		t.Errorf("consumer at %d, producer at %d", *r.consumer, *r.producer)
	}
}

func TestDrainSkipsDiscardedRecords(t *testing.T) {
	r := newFakeRing(256)
	for range 3 {
		at, _ := r.reserve([]byte("discarded"))
		r.flags(at, 9|ringDiscard)
	}
	r.submit(t, "kept")
	if got, n := r.read(1); !reflect.DeepEqual(got, []string{"kept"}) || n != 1 {
		t.Errorf("got %q, %d", got, n)
	}
	if *r.consumer != *r.producer {
		t.Error("discarded records still take room")
	}
}

func TestDrainReadsNoMoreThanItsLimit(t *testing.T) {
	r := newFakeRing(256)
	for _, s := range []string{"a", "b", "c"} {
		r.submit(t, s)
	}
	if got := r.fill(); got != 48.0/256 {
		t.Errorf("fill is %v", got)
	}
	for _, want := range [][]string{nil, {"a", "b"}, {"c"}, nil} {
		if got, n := r.read(len(want)); !reflect.DeepEqual(got, want) || n != len(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRecordsThatWrapAroundTheRingAreRead(t *testing.T) {
	r := newFakeRing(256)
	random := rand.New(rand.NewPCG(1, 2))
	var want []string
	for i := range 2000 {
		b := make([]byte, 1+random.IntN(100))
		for j := range b {
			b[j] = byte(i + j)
		}
		at, ok := r.reserve(b)
		if !ok {
			got, _ := r.read(1 << 30)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("after %d records: got %q, want %q", i, got, want)
			}
			want = nil
			if at, ok = r.reserve(b); !ok {
				t.Fatal("an empty ring is full")
			}
		}
		r.flags(at, uint32(len(b)))
		want = append(want, string(b))
	}
	if *r.producer < 100*256 {
		t.Errorf("only %d bytes written: the ring was not wrapped often", *r.producer)
	}
}

func TestRingMayBeClosedTwice(t *testing.T) {
	r := newFakeRing(256)
	r.close()
	r.close()
}

func TestRingsAreWholePages(t *testing.T) {
	const kib = 1 << 10
	for _, c := range []struct{ bytes, page, want int }{
		{0, 4 * kib, 4 * kib},
		{1, 4 * kib, 4 * kib},
		{4 * kib, 4 * kib, 4 * kib},
		{4*kib + 1, 4 * kib, 8 * kib},
		{12 * kib, 4 * kib, 16 * kib},
		{64 * kib, 4 * kib, 64 * kib},
		{64 * kib, 16 * kib, 64 * kib},
		{64 * kib, 64 * kib, 64 * kib},
		{4 * kib, 16 * kib, 16 * kib},
		{4 * kib, 64 * kib, 64 * kib},
		{65 * kib, 64 * kib, 128 * kib},
		{3 * 64 * kib, 64 * kib, 256 * kib},
		{defaultRing, 4 * kib, defaultRing},
		{defaultRing, 16 * kib, defaultRing},
		{defaultRing, 64 * kib, defaultRing},
	} {
		if got := ringBytes(c.bytes, c.page); got != c.want {
			t.Errorf("%d bytes with pages of %d: a ring of %d, want %d", c.bytes, c.page, got, c.want)
		}
	}
}

// TestRingsOfObjectsFitEveryPageSize: the kernel refuses a ring that is not a power of two of its pages.
func TestRingsOfObjectsFitEveryPageSize(t *testing.T) {
	objects := map[string]func() (*ebpf.CollectionSpec, error){"sched": sched.LoadSched, "inflight": inflight.LoadInFlight}
	for _, v := range variants {
		objects["call by "+string(v.backend)+" "+v.abi] = v.load
	}
	for _, p := range kernelProbes {
		objects[p.Name] = p.Load
	}
	rings := 0
	for name, load := range objects {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spec.Maps {
			if m.Type != ebpf.RingBuf {
				continue
			}
			rings++
			for _, page := range []int{4 << 10, 16 << 10, 64 << 10} {
				if size := int(m.MaxEntries); ringBytes(size, page) != size {
					t.Errorf("%s: %s has %d bytes, which is no ring of pages of %d", name, m.Name, size, page)
				}
			}
		}
	}
	if rings < 4 {
		t.Errorf("only %d rings were found", rings)
	}
}
