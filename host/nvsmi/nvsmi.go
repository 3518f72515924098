// Package nvsmi reads GPUs by means of one long-lived nvidia-smi, which comes with
// every NVIDIA driver: temperature, clocks, memory, and why the clocks are not
// higher. Without the program, or without a driver, there are no readings.
package nvsmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Period is the time between two readings.
const Period = 5 * time.Second

// Reading is what nvidia-smi said of one GPU. What it cannot say is 0.
type Reading struct {
	At       time.Time // when it said so
	GPU      int       // its index: PCI bus order
	TempC    int       // degrees Celsius
	ClockMHz int       // of the multiprocessors
	MaxMHz   int       // the highest that clock can be
	UtilPct  int       // time in which a kernel was resident, 0 to 100
	Reasons  uint64    // nvmlClocksEventReasons of nvml.h
	MemMB    uint64    // in use, MiB
	TotalMB  uint64    // MiB
}

// reasonFields are the names of one property: the first is that of all drivers so
// far, the second the one that drivers of branch 535 and later document.
var reasonFields = []string{"clocks_throttle_reasons.active", "clocks_event_reasons.active"}

func args(reasons string) []string {
	return []string{
		"--query-gpu=index,temperature.gpu,clocks.sm,clocks.max.sm,utilization.gpu," + reasons + ",memory.used,memory.total",
		"--format=csv,noheader,nounits", "-l", strconv.Itoa(int(Period / time.Second)),
	}
}

// maxPending bounds the readings kept for Take; the oldest go first.
const maxPending = 1024

// Reader is a running nvidia-smi.
type Reader struct {
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{} // closed when the program ended

	mu      sync.Mutex
	pending []Reading
}

// Start runs the program, nvidia-smi if path is empty, until Close. It returns at
// once; a program that is not there, or fails, leaves a reader without readings.
func Start(path string, log *slog.Logger) *Reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Reader{log: log, cancel: cancel, done: make(chan struct{})}
	if path == "" {
		path = "nvidia-smi"
	}
	go r.run(ctx, path)
	return r
}

// run tries the names of the fields until the program knows one.
func (r *Reader) run(ctx context.Context, path string) {
	defer close(r.done)
	// The program is to end with this process, however that ends: the kernel
	// takes the end of the thread that started it for that.
	runtime.LockOSThread()
	for _, f := range reasonFields {
		n, err := r.read(ctx, path, args(f))
		if ctx.Err() != nil {
			return
		}
		r.log.Debug("nvidia-smi ended", "readings", n, "err", err)
		if n > 0 || errors.Is(err, exec.ErrNotFound) {
			return
		}
	}
}

// read runs the program once and returns how many readings it gave. It keeps its
// ordinary priority: one that had to wait for a CPU while it holds a lock of the
// driver would hold up the programs that are watched.
func (r *Reader) read(ctx context.Context, path string, args []string) (n int, err error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second // for what it may have left behind
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("open pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	n = r.scan(out)
	return n, cmd.Wait()
}

// scan keeps the readings of a program's output.
func (r *Reader) scan(out io.Reader) (n int) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		g, ok := Parse(lines.Text())
		if !ok {
			continue
		}
		n++
		g.At = time.Now()
		r.mu.Lock()
		if len(r.pending) == maxPending {
			r.pending = append(r.pending[:0], r.pending[1:]...)
		}
		r.pending = append(r.pending, g)
		r.mu.Unlock()
	}
	return n
}

// Take returns the readings since the last call. It never waits for the program.
func (r *Reader) Take() []Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending
	r.pending = nil
	return p
}

// patience is how long Close waits for the program to end: one that is stuck in
// the driver cannot be killed.
const patience = time.Second

// Close ends the program. It may be called twice.
func (r *Reader) Close() {
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.log.Debug("nvidia-smi does not end")
	}
}

// Parse reads a line of output. It is false for anything but a reading: messages
// of the program come on the same way.
func Parse(line string) (Reading, bool) {
	f := strings.Split(line, ",")
	if len(f) != 8 {
		return Reading{}, false
	}
	gpu, err := strconv.Atoi(strings.TrimSpace(f[0]))
	if err != nil || gpu < 0 {
		return Reading{}, false
	}
	return Reading{
		GPU: gpu, TempC: int(number(f[1], 31)), ClockMHz: int(number(f[2], 31)), MaxMHz: int(number(f[3], 31)),
		UtilPct: int(min(number(f[4], 31), 100)), Reasons: number(f[5], 63), MemMB: number(f[6], 63), TotalMB: number(f[7], 63),
	}, true
}

// number reads a decimal or 0x number of at most so many bits; "[N/A]" and the
// like are 0.
func number(s string, bits int) uint64 {
	s = strings.TrimSpace(s)
	base := 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = hex, 16
	}
	n, err := strconv.ParseUint(s, base, bits)
	if err != nil {
		return 0
	}
	return n
}
