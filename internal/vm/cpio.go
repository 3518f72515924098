package vm

import (
	"fmt"
	"io"
	"io/fs"
	"path"
)

// archive writes a cpio archive in the form that the kernel reads as initramfs ("newc",
// Documentation/driver-api/early-userspace/buffer-format.rst). Folders are added as
// needed.
type archive struct {
	w    io.Writer
	seen map[string]bool
	ino  int
	err  error
}

func newArchive(w io.Writer) *archive {
	return &archive{w: w, seen: map[string]bool{".": true, "/": true}}
}

// Bits of a mode that say what a file is (inode(7)).
const (
	modeFolder = 0o040000
	modeFile   = 0o100000
)

// file adds a file; an existing one is kept.
func (a *archive) file(name string, data []byte, perm fs.FileMode) {
	a.addFile(name, modeFile|uint32(perm.Perm()), data)
}

func (a *archive) folder(name string) { a.addFile(name, modeFolder|0o755, nil) }

func (a *archive) addFile(name string, mode uint32, data []byte) {
	name = path.Clean(name)
	if a.seen[name] {
		return
	}
	a.seen[name] = true
	a.folder(path.Dir(name))
	a.entry(path.Clean("/" + name)[1:], mode, data)
}

// entry writes a header of numbers in hexadecimal, the name, and the content; each
// part ends at a multiple of four bytes.
func (a *archive) entry(name string, mode uint32, data []byte) {
	a.ino++
	header := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	a.write(header + name + "\x00")
	a.pad(len(header) + len(name) + 1)
	a.write(string(data))
	a.pad(len(data))
}

func (a *archive) write(s string) {
	if a.err == nil {
		_, a.err = io.WriteString(a.w, s)
	}
}

func (a *archive) pad(n int) { a.write("\x00\x00\x00"[:-n&3]) }

// close ends the archive and returns the first error.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}
