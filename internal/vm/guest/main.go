// Command guest is init of a virtual machine that runs tests (package vm): it mounts
// what the tests need, runs the steps it finds, reports the results and switches the
// machine off. It is linked statically and needs only a kernel.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/vm"
)

func main() {
	if err := runGuest(); err != nil {
		fmt.Println("guest:", err)
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest: switch off:", err)
	}
}

func runGuest() error {
	if err := prepare(); err != nil {
		return err
	}
	text, err := os.ReadFile(vm.StepsFile)
	if err != nil {
		return err
	}
	var steps []vm.Step
	if err := json.Unmarshal(text, &steps); err != nil {
		return fmt.Errorf("read steps: %w", err)
	}
	r := vm.Result{Release: release(), Pages: os.Getpagesize() >> 10}
	fmt.Printf("guest: Linux %s is up, with pages of %d KiB\n", r.Release, r.Pages)
	for _, s := range steps {
		r.Steps = append(r.Steps, step(s))
	}
	fmt.Printf("\n%s\n", r.Line())
	return nil
}

func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err.Error()
	}
	return unix.ByteSliceToString(u.Release[:])
}

// beat is how often a line is printed for a step that prints nothing.
const beat = 20 * time.Second

func step(s vm.Step) vm.Outcome {
	o := vm.Outcome{Step: s}
	began := time.Now()
	fmt.Printf("\nguest: %s\n", &s)
	var t vm.Tally
	err := tests(s, func(line string) {
		fmt.Println(line)
		t.Line(line)
	})
	t.Fill(&o)
	if err != nil && len(o.Failed) == 0 {
		o.Trouble = err.Error()
	}
	o.Took = time.Since(began)
	return o
}

// tests runs a test program and prints its lines as they come.
func tests(s vm.Step, line func(string)) error {
	cmd := exec.Command(s.Args[0], s.Args[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), probe.BackendEnv+"="+s.Backend)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = w.Close() // it is in memory
		done <- err
	}()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			lines <- in.Text()
		}
		_, _ = io.Copy(io.Discard, r) // what follows a line that is too long
	}()
	quiet := time.NewTimer(beat)
	for {
		select {
		case text, ok := <-lines:
			if !ok {
				return <-done
			}
			line(text)
		case <-quiet.C:
			fmt.Printf("guest: %s is still running\n", &s)
		}
		quiet.Reset(beat)
	}
}
