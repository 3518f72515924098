package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/doctor"
)

const whatItIs = `Ingero finds out why a GPU waits: it records the CUDA calls of unmodified programs, and
what Linux did to the threads that made them. No data leaves this machine unless you
export or serve it.

`

// firstScreen is what the program prints without arguments: the one thing to do next on this machine.
func (c *console) firstScreen() error {
	step, ok := c.explainStep()
	if !ok {
		step = doctor.First(doctor.Options{Sudo: c.underSudo()})
	}
	_, err := io.WriteString(c.out, whatItIs+stepText(step)+"\nAll commands: ingero --help\n")
	return err
}

// stepText is a step as people read it.
func stepText(s doctor.Step) string { return "next: " + s.Do + "\n      " + s.Why + "\n" }

// explainStep is what to do where something has been recorded already.
func (c *console) explainStep() (doctor.Step, bool) {
	path, err := c.database("")
	if err != nil {
		return doctor.Step{}, false // explain says what is wrong with the configuration
	}
	const command = "ingero explain"
	explains := doctor.Step{Do: command, Why: "explains what was recorded to " + path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission), err == nil && unix.Access(path, unix.R_OK) != nil:
		explains.Do = "sudo " + command
	case err != nil || info.Size() == 0:
		return doctor.Step{}, false
	}
	return explains, true
}

// underSudo reports whether sudo started the program.
func (c *console) underSudo() bool { return os.Geteuid() == 0 && c.env("SUDO_UID") != "" }
