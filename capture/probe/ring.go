package probe

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The header word of a ring buffer record (include/uapi/linux/bpf.h).
const (
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30
	ringHeader  = 8
)

// ring reads a BPF ring buffer without copying: records are handed out as slices
// of the mapping, and the consumer position is published once a batch.
//
// Programs submit with BPF_RB_NO_WAKEUP, and the reader drains on a timer. That costs
// the traced process nothing and the reader one wake-up a period.
type ring struct {
	consumer, producer *uint64
	data               []byte
	mask               uint64
	wrapped            []byte // the record that wraps around the end
	maps               [2][]byte
}

// ringBytes is the size of the smallest ring that holds so many bytes. The kernel wants a power of two that is a
// multiple of its pages, of which arm64 has those of 4, 16 and 64 KiB.
func ringBytes(bytes, page int) int {
	return page << bits.Len(uint((max(bytes, 1)-1)/page))
}

// newRing maps a ring buffer.
func newRing(m *ebpf.Map) (*ring, error) {
	fd, size, page := m.FD(), int(m.MaxEntries()), unix.Getpagesize()
	c, err := unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map ring consumer page: %w", err)
	}
	// The kernel would map the data pages twice, so that no record wraps; but
	// both copies count as this process's memory, and copying one record a round
	// is cheap.
	p, err := unix.Mmap(fd, int64(page), page+size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		unix.Munmap(c)
		return nil, fmt.Errorf("map ring data: %w", err)
	}
	return &ring{
		consumer: (*uint64)(unsafe.Pointer(&c[0])),
		producer: (*uint64)(unsafe.Pointer(&p[0])),
		data:     p[page:],
		mask:     uint64(size - 1),
		maps:     [2][]byte{c, p},
	}, nil
}

// drain calls f for each committed record, at most limit of them, and returns
// how many. The slice is valid during the call only.
func (r *ring) drain(limit int, f func(record []byte)) int {
	pos, end := atomic.LoadUint64(r.consumer), atomic.LoadUint64(r.producer)
	n := 0
	for pos < end && n < limit {
		at := pos & r.mask
		header := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[at])))
		if header&ringBusy != 0 {
			break
		}
		size := uint64(header &^ (ringBusy | ringDiscard))
		if header&ringDiscard == 0 {
			f(r.record(at+ringHeader, size))
			n++
		}
		pos += (size + ringHeader + 7) &^ 7
	}
	atomic.StoreUint64(r.consumer, pos)
	return n
}

// record returns size bytes from position at on.
func (r *ring) record(at, size uint64) []byte {
	at &= r.mask
	if end := at + size; end <= uint64(len(r.data)) {
		return r.data[at:end]
	}
	r.wrapped = append(append(r.wrapped[:0], r.data[at:]...), r.data[:at+size-uint64(len(r.data))]...)
	return r.wrapped
}

// fill is the share of the ring that is waiting to be read, 0 to 1.
func (r *ring) fill() float64 {
	used := atomic.LoadUint64(r.producer) - atomic.LoadUint64(r.consumer)
	return float64(used) / float64(r.mask+1)
}

func (r *ring) close() {
	for i, m := range r.maps {
		if m != nil {
			unix.Munmap(m)
			r.maps[i] = nil
		}
	}
}
