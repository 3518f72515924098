package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Machine is what a virtual machine is made of.
type Machine struct {
	Arch   Arch
	Whole  bool      // the kernel needs what Arch.Off names
	Kernel string    // file
	Image  string    // initramfs
	Append string    // to the kernel's command line
	Log    io.Writer // gets the console

	// How long it may be silent until it counts as hanging, and how long it may run in
	// all. Its init prints a line every 20 s.
	Silence, Longest time.Duration
}

// Enough for an emulated machine while other work runs.
const (
	DefaultSilence = 2 * time.Minute
	DefaultLongest = 30 * time.Minute
)

// tailSize is how many lines of the console an error shows.
const tailSize = 40

// Boot runs the machine until it switches itself off and returns the result of its
// tests. A machine that hangs, or ends without a result, is an error that shows the end
// of the console.
func (m *Machine) Boot(ctx context.Context) (*Result, error) {
	ctx, stop := context.WithTimeoutCause(ctx, m.Longest, fmt.Errorf("it still ran after %s", m.Longest))
	defer stop()
	ctx, hang := context.WithCancelCause(ctx)
	defer hang(nil)
	cmd := exec.CommandContext(ctx, m.Arch.Qemu, m.args()...)
	cmd.WaitDelay = time.Second
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: install %s", m.Arch.Qemu, err, m.Arch.Package)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		w.CloseWithError(io.EOF)
		ended <- err
	}()
	quiet := time.AfterFunc(m.Silence, func() { hang(fmt.Errorf("nothing was heard of it for %s", m.Silence)) })
	defer quiet.Stop()
	c := console{log: m.Log, heard: func() { quiet.Reset(m.Silence) }}
	c.readConsole(r)
	err := <-ended
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if c.result == nil || err != nil {
		return nil, c.failure(err)
	}
	return c.result, nil
}

// args are the emulator's arguments. Several processors share one thread: kernels
// change their own code while they run, which the emulator handles wrongly across
// threads. Detaching a probe waits for an RCU grace period of the kernel. With
// expedited grace periods, closing a hundred of them takes a tenth of the time.
func (m *Machine) args() []string {
	line := "console=" + m.Arch.Console + " quiet panic=-1 oops=panic preempt=full rcupdate.rcu_expedited=1"
	cpu := m.Arch.CPU
	if !m.Whole {
		cpu += m.Arch.Off
	}
	return append(append([]string{}, m.Arch.Machine...),
		"-cpu", cpu, "-accel", "tcg,thread=single", "-smp", "2", "-m", "2048",
		"-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-kernel", m.Kernel, "-initrd", m.Image, "-append", strings.TrimSpace(line+" "+m.Append))
}

// console reads what a machine says.
type console struct {
	log    io.Writer
	heard  func()
	tail   []string
	result *Result
}

func (c *console) readConsole(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadString('\n')
		if text != "" {
			c.heard()
			c.line(strings.TrimRight(text, "\r\n"))
		}
		if err != nil {
			return
		}
	}
}

func (c *console) line(text string) {
	if r, ok := parseLine(text); ok {
		c.result = r
		return
	}
	if c.tail = append(c.tail, text); len(c.tail) > tailSize {
		c.tail = c.tail[1:]
	}
	fmt.Fprintln(c.log, text)
}

func (c *console) failure(err error) error {
	if err == nil {
		err = errors.New("it ended before its tests did")
	}
	return fmt.Errorf("the virtual machine failed: %w; its last words:\n  %s", err, strings.Join(c.tail, "\n  "))
}
