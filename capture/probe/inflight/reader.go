package inflight

import (
	"io"
	"unsafe"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/probe/kernel"
)

// Reader reads what the probe tells. It is used by one goroutine.
type Reader struct {
	probe *kernel.Loaded
	buf   []byte
}

// NewReader makes a Reader of the probe, which is loaded.
func NewReader(l *kernel.Loaded) *Reader { return &Reader{probe: l} }

// Read runs the iterator; each record is valid until the next Read.
func (f *Reader) Read(visit func(*bpf.WireFlightRec)) error {
	r, err := f.probe.Iterator.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	f.buf = f.buf[:0]
	const size = int(unsafe.Sizeof(bpf.WireFlightRec{}))
	for {
		if cap(f.buf)-len(f.buf) < size {
			f.buf = append(f.buf, make([]byte, 64*size)...)[:len(f.buf)]
		}
		n, err := r.Read(f.buf[len(f.buf):cap(f.buf)])
		f.buf = f.buf[:len(f.buf)+n]
		if err == io.EOF || err == nil && n == 0 {
			break
		}
		if err != nil {
			return err
		}
	}
	for b := f.buf; len(b) >= size; b = b[size:] {
		visit((*bpf.WireFlightRec)(unsafe.Pointer(&b[0])))
	}
	return nil
}

// Ask has the threads told by every later Read, until the next Ask.
func (f *Reader) Ask(tids []uint32) {
	m := f.probe.Collection.Maps["asked"]
	var key uint32
	var old []uint32
	for it := m.Iterate(); it.Next(&key, new(uint8)); {
		old = append(old, key)
	}
	for _, k := range old {
		_ = m.Delete(k) // fails only if it is gone
	}
	for _, k := range tids {
		_ = m.Put(k, uint8(1)) // a full map leaves holders without a record: the wait itself has one
	}
}
