// Package python knows the frames of CPython. It finds the interpreter of a process and
// the layout of its structures, decodes the code objects that the kernel's walker
// (capture/bpf/include/python.h) copied, and merges Python frames into native stacks.
//
// It reads executables. It reads the memory of a process only to walk the frames of a
// thread whose call has not returned: the kernel's walker runs when a call returns.
package python

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/ingero-io/ingero/capture/bpf"
)

// Version is a CPython version as Py_Version has it: 0x030b07f0 is 3.11.7.
type Version uint32

// Minor is 11 for 3.11.7, and 0 for what is not Python 3.
func (v Version) Minor() int {
	if v>>24 != 3 {
		return 0
	}
	return int(v >> 16 & 0xff)
}

// String returns "3.11.7", or "3.11" if that is all that is known.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d", v>>24, v>>16&0xff)
	if v&0xffff == 0 {
		return s
	}
	s += fmt.Sprintf(".%d", v>>8&0xff)
	switch v >> 4 & 0xf {
	case 0xa:
		s += "a"
	case 0xb:
		s += "b"
	case 0xc:
		s += "rc"
	default:
		return s
	}
	return s + strconv.Itoa(int(v&0xf))
}

// development reports whether it is an alpha or beta, whose layout may still
// have changed before the release.
func (v Version) development() bool {
	l := v >> 4 & 0xf
	return l == 0xa || l == 0xb
}

// Oldest and Newest are the minor versions of Python 3 whose layout is known.
const (
	Oldest = 8
	Newest = 14
)

// Interpreter is a CPython that a process runs.
type Interpreter struct {
	Version Version
	Path    string         // of its file, as the process sees it
	Layout  bpf.WirePyProc // without a seed
}

// UnsupportedError says why the Python frames of a process cannot be read.
type UnsupportedError struct {
	Path string // of the interpreter
	Why  string
}

func (e *UnsupportedError) Error() string { return "no Python frames: " + e.Path + ": " + e.Why }

// fileName matches the names that interpreters are installed under:
// libpython3.10.so.1.0, python3.14, python, libpython3.12-d0da41ae.so.1.0.
var fileName = regexp.MustCompile(`^(?:lib)?python(?:(\d)(?:\.(\d+)[a-z]{0,3})?)?(?:-[0-9a-f]+)?(?:\.so[0-9.]*)?$`)

// IsInterpreter reports whether a file of this name, without its folder, is one
// that holds an interpreter.
func IsInterpreter(base string) bool { return fileName.MatchString(base) }

// versionOf returns the version in a file's name, 0 if there is none.
func versionOf(base string) Version {
	m := fileName.FindStringSubmatch(base)
	if m == nil || m[2] == "" {
		return 0
	}
	minor, err := strconv.ParseUint(m[2], 10, 8)
	if err != nil {
		return 0
	}
	return Version(uint32(m[1][0]-'0')<<24 | uint32(minor)<<16)
}
