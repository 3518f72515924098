package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// tracer is a running "ingero trace" with its own recording.
type tracer struct {
	cmd     *exec.Cmd
	db      string
	began   time.Time       // when the process was started
	lines   chan tracerLine // what read may ask for; closed at the tracer's end
	stderr  bytes.Buffer
	peak    uint64 // bytes of memory, once stopped
	start   traceStart
	summary traceSummary
}

// traceStart and traceSummary are the lines of "ingero trace --json" of that type.
type traceStart struct {
	At   int64 `json:"at_ns"`
	Took int64 `json:"took_ns"`
}

type traceSummary struct {
	Calls      uint64            `json:"calls"`
	Lost       map[string]uint64 `json:"lost"`
	FirstEvent int64             `json:"first_event_ns"`
}

// tracerLine is a line of "ingero trace --json".
type tracerLine struct {
	kind string
	text []byte
	err  error // the line is not valid JSON
}

// maxLines is more than the lines that a tracer prints for start, findings and summary.
const maxLines = 4096

// listen reads the tracer's output, as its user would: a tracer whose output is not read drops
// lines.
func (t *tracer) listen(out io.Reader) {
	defer close(t.lines)
	for lines := bufio.NewReaderSize(out, 1<<20); ; {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var head struct {
			Type string `json:"type"`
		}
		err = json.Unmarshal(text, &head)
		if err != nil || head.Type != "call" && head.Type != "second" {
			t.lines <- tracerLine{head.Type, text, err}
		}
	}
}

// trace starts the tracer on a process, with further flags, and waits until it is
// attached.
func (l *lab) trace(ctx context.Context, pid int, flags ...string) (*tracer, error) {
	l.number++
	t := &tracer{db: filepath.Join(l.dir, fmt.Sprintf("run%d.db", l.number)), began: time.Now()}
	flags = append([]string{"trace", "--json", "--node", "bench", "--pid", strconv.Itoa(pid), "--db", t.db}, flags...)
	t.cmd = exec.CommandContext(ctx, l.opts.Ingero, flags...)
	t.cmd.Cancel = func() error { return t.cmd.Process.Signal(syscall.SIGTERM) }
	t.cmd.WaitDelay = 10 * time.Second
	t.cmd.Stderr = &t.stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the tracer: %w", err)
	}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the tracer: %w", err)
	}
	t.lines = make(chan tracerLine, maxLines)
	go t.listen(out)
	if err := t.readReport("start", &t.start); err != nil {
		return nil, errors.Join(err, t.end())
	}
	return t, nil
}

// readReport reads lines up to one of the given type.
func (t *tracer) readReport(kind string, into any) error {
	for line := range t.lines {
		if line.err != nil {
			return fmt.Errorf("read the tracer's output: %w", line.err)
		}
		if line.kind == kind {
			return json.Unmarshal(line.text, into)
		}
	}
	return fmt.Errorf("the tracer ended without a line of type %s%s", kind, t.said())
}

func (t *tracer) said() string {
	if s := strings.TrimSpace(t.stderr.String()); s != "" {
		return ": " + s
	}
	return ""
}

// stop ends the tracer as Ctrl+C does and waits for its summary.
func (t *tracer) stop() error {
	t.peak = highWater(t.cmd.Process.Pid)
	if err := t.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the tracer: %w", err)
	}
	err := t.readReport("summary", &t.summary)
	t.peak = max(t.peak, highWater(t.cmd.Process.Pid)) // unless it is gone by now
	return errors.Join(err, t.end())
}

func (t *tracer) end() error {
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("end the tracer: %w%s", err, t.said())
	}
	return nil
}

// cpu is the CPU time the tracer has used.
func (t *tracer) cpu() (time.Duration, error) { return processCPU(t.cmd.Process.Pid) }

// processCPU reads a process's CPU clock, to the nanosecond: the clock id of a
// process is ~pid << 3 | CPUCLOCK_SCHED (2), include/linux/posix-timers.h.
func processCPU(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// recording is the content of a tracer's file.
type recording struct {
	calls     uint64 // sum of the weights of the stored calls
	rows      uint64
	lost      uint64 // calls that were dropped, according to the file
	bytes     int64
	durations series // of the stored calls, ns
}

// recorded reads the file and removes it.
func (t *tracer) recorded(ctx context.Context) (recording, error) {
	var rec recording
	r, err := sqlite.OpenReader(t.db)
	if err != nil {
		return rec, err
	}
	defer r.Close() // a reader has written nothing
	err = r.Calls(ctx, store.Window{}, func(c *event.Call) bool {
		rec.rows++
		rec.calls += uint64(max(c.Weight, 1))
		rec.durations = append(rec.durations, float64(c.Duration))
		return true
	})
	if err != nil {
		return rec, err
	}
	sum, err := r.Summary(ctx)
	if err != nil {
		return rec, err
	}
	for _, x := range sum.Losses {
		if k := event.Losses[x.Kind]; k.Unit == "calls" && !k.Approximate || x.Kind == event.LostStored {
			rec.lost += x.Count
		}
	}
	i, err := os.Stat(t.db)
	if err != nil {
		return rec, err
	}
	rec.bytes = i.Size()
	return rec, os.Remove(t.db) // the next one may need the space
}

// peak follows the peak memory of a process that ends by itself. The peak that wait4 reports cannot
// be used: it includes the parent's memory before exec. Do not use it during another measurement:
// it wakes up often.
type peak struct {
	done  chan struct{}
	wg    sync.WaitGroup
	bytes uint64
}

const peakEvery = 5 * time.Millisecond

func watchPeak(pid int) *peak {
	p := &peak{done: make(chan struct{})}
	p.wg.Go(func() {
		tick := time.NewTicker(peakEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-tick.C:
				p.bytes = max(p.bytes, highWater(pid))
			}
		}
	})
	return p
}

// stop ends the watch. It may be called twice, by one goroutine.
func (p *peak) stop() {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	p.wg.Wait()
}

// highWater is VmHWM of a process in bytes, 0 if the process has ended.
func highWater(pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if !ok {
		return 0
	}
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseUint(kb, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
