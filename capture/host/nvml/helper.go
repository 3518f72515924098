package nvml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readHelper runs a helper until it ends, hangs, or ctx is done, and returns why it ended.
//
// The helper keeps its normal priority: if it had to wait for a CPU while it holds a lock of the
// driver, it would delay the traced programs.
func (r *Reader) readHelper(ctx context.Context, w way) error {
	cmd, in, out, err := start(w, r.opts.Period)
	if err != nil {
		return &Failure{Stage: StageStart, Text: err.Error()}
	}
	r.opts.Logger.Debug("reading GPUs", "library", w, "pid", cmd.Process.Pid)
	r.runs(w, cmd.Process.Pid, func() bool { return unread(out) })
	defer r.runs(w, 0, nil)
	heard := make(chan error, 1)
	alive := make(chan struct{}, 1)
	go func() { heard <- r.hear(out, alive) }()
	err, stuck := r.watch(ctx, alive, heard)
	if stuck {
		r.failed(err) // now: the driver may block its end for long
	}
	in.Close()
	cmd.Process.Kill()  // fails only if it ended
	ended := cmd.Wait() // no other one is started while it hangs
	r.used(cmd.ProcessState)
	if err == nil {
		err = &Failure{Stage: StageRead, Text: fmt.Sprintf("the helper ended (%v)", ended)}
	}
	return err
}

// runs notes that a helper runs, or none if pid is 0, with a function that reports whether its pipe
// has unread data.
func (r *Reader) runs(w way, pid int, unread func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Library, r.state.PID, r.unread = w.String(), pid, unread
	if pid != 0 {
		r.state.Rounds, r.state.CPU, r.state.First = 0, 0, 0
	}
}

// used adds the CPU time of a helper that ended; p is nil if its end is not known.
func (r *Reader) used(p *os.ProcessState) {
	if p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended += p.UserTime() + p.SystemTime()
	r.state.Used = max(r.state.Used, r.ended) // a round may have told more: the kernel's sums are rounded
}

// watch waits for the end of the helper's output, or until it is silent for too long.
func (r *Reader) watch(ctx context.Context, alive <-chan struct{}, heard <-chan error) (err error, stuck bool) {
	patience := r.opts.StartPatience
	quiet := time.NewTimer(patience)
	defer quiet.Stop()
	for {
		select {
		case err := <-heard:
			return err, false
		case <-alive:
			patience = r.opts.ReadPatience
			quiet.Reset(patience)
		case <-quiet.C:
			return &Failure{Stage: StageRead, Text: fmt.Sprintf("a call into the driver did not return for %s", patience)}, true
		case <-ctx.Done():
			return ctx.Err(), false
		}
	}
}

// start starts a helper. It passes the library as an open file: the helper may have no access to
// its path.
func start(w way, period time.Duration) (cmd *exec.Cmd, in io.Closer, out io.Reader, err error) {
	program, err := programFile()
	if err != nil {
		return nil, nil, nil, err
	}
	defer program.Close()
	library, err := w.open()
	if err != nil {
		return nil, nil, nil, err
	}
	defer library.Close()
	// ExtraFiles are descriptors 3 and 4 of the helper.
	cmd = exec.Command("/proc/self/fd/4", "/proc/self/fd/3", strconv.FormatInt(period.Milliseconds(), 10))
	cmd.Args[0] = "ingero-nvml"
	cmd.Env = []string{} // the environment is not meant for the helper
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{library, program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: w.as}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: it needs glibc's dynamic loader", err)
		}
		return nil, nil, nil, err
	}
	return cmd, stdin, stdout, nil
}

// mfdExec asks for a file that may be executed whatever vm.memfd_noexec says by
// default (Linux 6.3; memfd_create(2)).
const mfdExec = 0x10

// programFile is the helper as an anonymous file, which cannot be changed.
func programFile() (*os.File, error) {
	if len(program) == 0 {
		return nil, errors.New("there is none for this architecture")
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("ingero-nvml", flags|mfdExec)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("ingero-nvml", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "ingero-nvml")
	_, err = f.Write(program)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return f, nil
}

// hear reads a helper's output until it ends. It returns the reason given by the helper, nil if
// none.
func (r *Reader) hear(out io.Reader, alive chan<- struct{}) error {
	var failure error
	var round Taken
	var processes []ProcessMemory // for the next reading
	gpus, inRound := 0, 0
	for rec := new(record); ; {
		if _, err := io.ReadFull(out, rec[:]); err != nil {
			return failure
		}
		if inRound++; inRound > maxRound { // the library may write into its process, and so what this one says
			return &Failure{Stage: StageRead, Text: "the helper says more of a round than there can be"}
		}
		if rec.gpu() > maxGPUs {
			continue // not written by our helper
		}
		switch rec.kind() {
		case kindDriver:
			gpus = rec.driver().GPUs
			r.began(rec.driver())
		case kindDevice:
			round.Devices = append(round.Devices, rec.device())
		case kindReading:
			g := rec.reading()
			g.Processes, processes = processes, nil
			round.Readings = append(round.Readings, g)
		case kindProcess:
			processes = append(processes, rec.process())
		case kindXid:
			r.addTaken(&Taken{Xids: []Xid{rec.xid(gpus)}})
		case kindRound:
			r.addTaken(&round)
			r.rounded(rec.since(), time.Duration(rec.amount()))
			round, inRound = Taken{}, 0
			select {
			case alive <- struct{}{}:
			default: // it is known
			}
		case kindFailure:
			failure = rec.failure()
		}
	}
}

func (r *Reader) began(d Driver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Driver = d
	r.opts.Logger.Debug("NVML", "driver", d.Version, "nvml", d.NVML, "gpus", d.GPUs)
}

// addTaken keeps what a helper read for Take.
func (r *Reader) addTaken(t *Taken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.pending
	p.Xids = latest(append(p.Xids, t.Xids...))
	p.Devices = latest(append(p.Devices, t.Devices...))
	p.Readings = append(p.Readings, t.Readings...)
	if n := len(p.Readings) - maxPending; n > 0 {
		p.Readings = append(p.Readings[:0], p.Readings[n:]...)
		p.Missed += uint64(n)
	}
}

// latest is the end of a list that Take has not taken for long.
func latest[T any](list []T) []T { return list[max(0, len(list)-maxPending):] }

// rounded notes that all GPUs were read, at a time of CLOCK_MONOTONIC. It counts the missed rounds
// before it by the helper's times, so that data that was only read late does not count as missed.
func (r *Reader) rounded(at uint64, cpu time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.miss(at)
	r.last = max(r.last, at)
	r.state.Err = nil
	r.state.Rounds++
	r.state.CPU, r.state.Used = cpu, r.ended+cpu
	if r.state.Rounds == 1 {
		r.state.First = cpu
	}
}

// unread reports whether there is something to read in a pipe.
func unread(pipe io.Reader) bool {
	f, ok := pipe.(*os.File)
	if !ok {
		return false
	}
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	p := []unix.PollFd{{Events: unix.POLLIN}}
	_ = c.Control(func(fd uintptr) { // a closed one has no data
		p[0].Fd = int32(fd)
		_, err = unix.Poll(p, 0)
	})
	return err == nil && p[0].Revents&unix.POLLIN != 0
}

// miss counts the rounds that should have been since the last one, unless one followed within a
// period.
func (r *Reader) miss(until uint64) {
	if r.last == 0 || until < r.last {
		return
	}
	period := uint64(r.opts.Period)
	if n := (until - r.last) / period; n > 1 {
		r.pending.Missed += n - 1
		r.last += (n - 1) * period
	}
}

// monotonic is CLOCK_MONOTONIC, ns; 0 if it cannot be read.
func monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}
