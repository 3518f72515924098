package probe

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A MapWatcher reports every file that any process maps executable: a program that
// starts, or a library that is loaded at start or by dlopen, with any loader and in any
// mount namespace. It uses the kernel's own records for profilers (PERF_RECORD_MMAP2),
// so only such mappings have a cost.
type MapWatcher struct {
	rings   []*perfRing
	epoll   int
	dropped uint64
}

// Mapped is a file mapped executable.
type Mapped struct {
	PID, TID int
	Path     string // as the process sees it
	At       uint64 // kernel time, CLOCK_MONOTONIC ns
	Inode    uint64
}

// perfBytes is how many bytes of records each CPU's ring holds.
const perfBytes = 64 << 10

// NewMapWatcher starts watching on every CPU that is online.
func NewMapWatcher() (*MapWatcher, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	w := &MapWatcher{epoll: ep}
	cpus, err := onlineCPUs()
	if err != nil {
		w.Close()
		return nil, err
	}
	for _, cpu := range cpus {
		r, err := newPerfRing(cpu)
		if err != nil {
			w.Close()
			return nil, explain(fmt.Errorf("watch mappings on CPU %d: %w", cpu, err))
		}
		w.rings = append(w.rings, r)
		if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, r.fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(r.fd)}); err != nil {
			w.Close()
			return nil, fmt.Errorf("watch mappings on CPU %d: %w", cpu, err)
		}
	}
	return w, nil
}

// NewIdleWatcher returns a watcher that reports no mappings, for machines that do not
// permit watching them. It still waits for descriptors added by Add.
func NewIdleWatcher() (*MapWatcher, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	return &MapWatcher{epoll: ep}, nil
}

// Add makes Wait return also when fd becomes readable.
func (w *MapWatcher) Add(fd int) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Wait blocks until something was mapped, an added descriptor is readable, or
// the time has passed.
func (w *MapWatcher) Wait(milliseconds int) error {
	var ev [8]unix.EpollEvent
	_, err := unix.EpollWait(w.epoll, ev[:], milliseconds)
	if err == unix.EINTR {
		return nil
	}
	return err
}

// Drain calls f for each mapping since the last Drain.
func (w *MapWatcher) Drain(f func(Mapped)) {
	for _, r := range w.rings {
		w.dropped += r.drain(f)
	}
}

// Dropped is how many mappings were not reported because a ring was full. If some
// were, only a scan of /proc is complete.
func (w *MapWatcher) Dropped() uint64 { return w.dropped }

// Close stops watching.
func (w *MapWatcher) Close() {
	for _, r := range w.rings {
		r.close()
	}
	w.rings = nil
	if w.epoll >= 0 {
		unix.Close(w.epoll)
		w.epoll = -1
	}
}

// perfRing is the ring of one CPU's dummy event.
type perfRing struct {
	fd   int
	mem  []byte
	data []byte
	page *unix.PerfEventMmapPage
}

func newPerfRing(cpu int) (*perfRing, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_DUMMY,
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitWatermark |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Sample_type: unix.PERF_SAMPLE_TIME, // the time, after each record
		Clockid:     unix.CLOCK_MONOTONIC,
		Wakeup:      1,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open perf event: %w", err)
	}
	size := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, size+ringBytes(perfBytes, size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("map perf ring: %w", err)
	}
	return &perfRing{fd: fd, mem: mem, data: mem[size:], page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0]))}, nil
}

func (r *perfRing) close() {
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// drain parses the records since the last call; returns how many were dropped.
func (r *perfRing) drain(f func(Mapped)) (dropped uint64) {
	head, tail := atomic.LoadUint64(&r.page.Data_head), r.page.Data_tail
	mask := uint64(len(r.data) - 1)
	for tail < head {
		var header [8]byte
		r.copy(header[:], tail&mask)
		size := uint64(binary.LittleEndian.Uint16(header[6:]))
		if size < 8 {
			tail = head // impossible: avoid an endless loop
			break
		}
		b := make([]byte, size)
		r.copy(b, tail&mask)
		switch binary.LittleEndian.Uint32(b) {
		case unix.PERF_RECORD_MMAP2:
			if m, ok := parseMmap2(b); ok {
				f(m)
			}
		case unix.PERF_RECORD_LOST:
			if len(b) >= 24 {
				dropped += binary.LittleEndian.Uint64(b[16:])
			}
		}
		tail += size
	}
	atomic.StoreUint64(&r.page.Data_tail, tail)
	return dropped
}

// copy reads len(b) bytes at position at of the ring, around its end.
func (r *perfRing) copy(b []byte, at uint64) {
	n := copy(b, r.data[at:])
	copy(b[n:], r.data)
}

// parseMmap2 reads PERF_RECORD_MMAP2 of include/uapi/linux/perf_event.h: header 8, pid
// 4, tid 4, addr 8, len 8, pgoff 8, maj 4, min 4, ino 8, generation 8, prot 4, flags 4,
// name; then the time, because of Sample_type.
func parseMmap2(b []byte) (m Mapped, ok bool) {
	const nameAt = 72
	if len(b) <= nameAt {
		return m, false
	}
	timeAt := len(b) - 8
	if timeAt <= nameAt {
		return m, false
	}
	name := string(b[nameAt:timeAt])
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	if !strings.HasPrefix(name, "/") {
		return m, false
	}
	return Mapped{
		PID: int(binary.LittleEndian.Uint32(b[8:])), TID: int(binary.LittleEndian.Uint32(b[12:])),
		Inode: binary.LittleEndian.Uint64(b[48:]), Path: name, At: binary.LittleEndian.Uint64(b[timeAt:]),
	}, true
}

// onlineCPUs parses a list such as "0-3,6".
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("list CPUs: %w", err)
	}
	var r []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		lo, hi := 0, 0
		switch n, _ := fmt.Sscanf(part, "%d-%d", &lo, &hi); n {
		case 1:
			hi = lo
		case 0:
			return nil, fmt.Errorf("list CPUs: cannot read %q", part)
		}
		for c := lo; c <= hi; c++ {
			r = append(r, c)
		}
	}
	return r, nil
}
