// Package proc reads what the agent needs from /proc. Every reader takes the
// file system root, so that tests use a tree of their own, and treats a process
// that vanished in between as an ordinary error (fs.ErrNotExist).
package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
)

// FS is a proc file system.
type FS struct{ root string }

// New returns the proc file system mounted at root; empty means /proc.
func New(root string) FS {
	if root == "" {
		root = "/proc"
	}
	return FS{root}
}

func (f FS) path(pid int, elem ...string) string {
	return filepath.Join(append([]string{f.root, strconv.Itoa(pid)}, elem...)...)
}

// PIDs lists the processes, in ascending order.
func (f FS) PIDs() ([]int, error) { return numbers(f.root) }

// Threads lists the threads of a process, in ascending order.
func (f FS) Threads(pid int) ([]int, error) { return numbers(f.path(pid, "task")) }

// numbers lists the names in a folder that are numbers, of limit.Tasks names.
func numbers(dir string) ([]int, error) {
	d, err := privilege.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(limit.Tasks)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var r []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			r = append(r, n)
		}
	}
	slices.Sort(r)
	return r, nil
}

// Comm is the task name of a thread; tid may be the process id.
func (f FS) Comm(pid, tid int) (string, error) {
	b, err := small(f.path(pid, "task", strconv.Itoa(tid), "comm"))
	return strings.TrimSuffix(string(b), "\n"), err
}

// Gone reports whether no process has an id. It is false if nobody could tell.
func (f FS) Gone(pid int) bool {
	_, err := f.Comm(pid, pid)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// small reads a file of a process. What a process can make longer than usual is cut.
func small(path string) ([]byte, error) {
	b, _, err := limit.ReadFile(path, limit.SmallProc)
	return b, err
}

// Command is the command line with spaces between the arguments, up to limit.CommandLine bytes.
func (f FS) Command(pid int) (string, error) {
	b, _, err := limit.ReadFile(f.path(pid, "cmdline"), limit.CommandLine)
	if err != nil {
		return "", err
	}
	b = bytes.TrimRight(b, "\x00")
	return strings.ToValidUTF8(string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})), "\uFFFD"), nil
}

// Parent is the parent's process id.
func (f FS) Parent(pid int) (int, error) {
	fields, err := f.stat(pid)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[1])
}

// stat is /proc/PID/stat after the process's name: its state, its parent, and more.
func (f FS) stat(pid int) ([]string, error) {
	b, err := small(f.path(pid, "stat"))
	if err != nil {
		return nil, err
	}
	// The name, in parentheses, may hold anything.
	i := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[i+1:]))
	if i < 0 || len(fields) < 2 {
		return nil, fmt.Errorf("%s: malformed", f.path(pid, "stat"))
	}
	return fields, nil
}

// Ended reports whether a process is a zombie. It has then left its control groups of version 1,
// and is in their roots.
func (f FS) Ended(pid int) bool {
	fields, err := f.stat(pid)
	return err == nil && (fields[0] == "Z" || fields[0] == "X")
}

// UID is the process's owner.
func (f FS) UID(pid int) (uint32, error) {
	i, err := os.Stat(f.path(pid))
	if err != nil {
		return 0, err
	}
	s, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no owner", f.path(pid))
	}
	return s.Uid, nil
}

// Readable reports whether the kernel lets this program look at a process as a debugger does (ptrace(2),
// PTRACE_MODE_READ), with the capabilities that it has for processes.
func (f FS) Readable(pid int) bool {
	_, err := privilege.Readlink(f.path(pid, "exe"))
	return !errors.Is(err, fs.ErrPermission)
}

// Environ returns the values of the wanted environment variables, as the
// process was started with, as far as they are within the first limit.Environ bytes.
func (f FS) Environ(pid int, names ...string) (map[string]string, error) {
	b, _, err := limit.ReadFile(f.path(pid, "environ"), limit.Environ)
	if err != nil {
		return nil, err
	}
	r := map[string]string{}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		k, v, ok := bytes.Cut(kv, []byte{'='})
		if ok && slices.ContainsFunc(names, func(n string) bool { return n == string(k) }) {
			r[string(k)] = string(v)
		}
	}
	return r, nil
}

// Limits is what a process may use (proc_pid_limits(5)).
func (f FS) Limits(pid int) (string, error) {
	b, err := small(f.path(pid, "limits"))
	return string(b), err
}

// OpenFiles lists what the process's descriptors refer to, as far as permitted: paths, and names
// such as "socket:[1234]"; of a process with very many, of limit.Descriptors.
func (f FS) OpenFiles(pid int) []string {
	dir := f.path(pid, "fd")
	d, err := privilege.Open(dir)
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(limit.Descriptors) // a partial list is used
	d.Close()                                     // read only
	var r []string
	for _, n := range names {
		if target, err := privilege.Readlink(filepath.Join(dir, n)); err == nil {
			r = append(r, target)
		}
	}
	return r
}

// OpenFile is what one of the process's descriptors refers to, as in OpenFiles; empty if that is
// not permitted, or there is none.
func (f FS) OpenFile(pid, fd int) string {
	if fd < 0 {
		return ""
	}
	target, err := privilege.Readlink(f.path(pid, "fd", strconv.Itoa(fd)))
	if err != nil {
		return ""
	}
	return target
}

// Cgroups returns the process's control groups by controller; the empty name is
// the version 2 hierarchy.
func (f FS) Cgroups(pid int) (map[string]string, error) {
	b, err := small(f.path(pid, "cgroup"))
	if err != nil {
		return nil, err
	}
	r := map[string]string{}
	for line := range strings.Lines(string(b)) {
		p := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(p) != 3 {
			continue
		}
		for c := range strings.SplitSeq(p[1], ",") {
			r[c] = p[2]
		}
	}
	return r, nil
}

// Mapping is a mapped range of a process's memory.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // file offset of Start
	Exec       bool
	Dev        string // "fe:00"
	Inode      uint64
	Path       string // as the process sees it
	Deleted    bool   // the file was removed or replaced after it was mapped
}

// Maps lists the file mappings of a process.
func (f FS) Maps(pid int) ([]Mapping, error) {
	return f.mappings(pid, func(m *Mapping) bool { return strings.HasPrefix(m.Path, "/") })
}

// Code lists the executable mappings of a process, also those without a file: there Path is empty,
// or the kernel's name such as "[vdso]".
func (f FS) Code(pid int) ([]Mapping, error) {
	return f.mappings(pid, func(m *Mapping) bool { return m.Exec })
}

// mappings lists some of a process's mappings: of one with more than limit.Mappings or limit.MapsBytes, the
// first ones. Mappings of one file share its path.
func (f FS) mappings(pid int, wanted func(*Mapping) bool) ([]Mapping, error) {
	file, err := privilege.Open(f.path(pid, "maps"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var r []Mapping
	bounded := &io.LimitedReader{R: file, N: limit.MapsBytes}
	s := bufio.NewScanner(bounded)
	s.Buffer(make([]byte, 0, 8192), maxLine)
	for len(r) < limit.Mappings && s.Scan() {
		m, ok := parseMapping(s.Text())
		if !ok || !wanted(&m) {
			continue
		}
		// Else the whole line would be kept.
		if n := len(r); n > 0 && r[n-1].Path == m.Path && r[n-1].Dev == m.Dev {
			m.Path, m.Dev = r[n-1].Path, r[n-1].Dev
		} else {
			m.Path, m.Dev = strings.Clone(m.Path), strings.Clone(m.Dev)
		}
		r = append(r, m)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read mappings of process %d: %w", pid, err)
	}
	if bounded.N == 0 && len(r) > 0 {
		r = r[:len(r)-1] // its line may be cut
	}
	return r, nil
}

// maxLine bounds a line of maps, in bytes: a path has up to 4096, of which each may be written as four.
const maxLine = 1 << 20

// parseMapping reads a line such as
// "7f12a000-7f12b000 r-xp 00001000 fe:00 1234   /usr/lib/libx.so (deleted)".
func parseMapping(line string) (m Mapping, ok bool) {
	name := ""
	f := strings.Fields(line)
	if slash := strings.IndexByte(line, '/'); slash >= 0 && len(strings.Fields(line[:slash])) == 5 {
		name = line[slash:] // may contain spaces
	} else if len(f) > 5 {
		name = f[5] // a kernel name, or of anonymous memory: "[anon:a/b]"
	}
	if len(f) < 5 {
		return m, false
	}
	lo, hi, ok := strings.Cut(f[0], "-")
	if !ok {
		return m, false
	}
	var errs [4]error
	m.Start, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.End, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	m.Inode, errs[3] = strconv.ParseUint(f[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return m, false
		}
	}
	m.Exec = strings.Contains(f[1], "x")
	m.Dev = f[3]
	m.Path, m.Deleted = strings.CutSuffix(name, " (deleted)")
	return m, true
}

// Open returns a path on the host that opens the file of a mapping: through the process's root or,
// if there is another file by now, through the kernel's own reference.
func (f FS) Open(pid int, m Mapping) (string, error) {
	p := f.path(pid, "root", m.Path)
	if i, err := privilege.Stat(p); err == nil {
		if s, ok := i.Sys().(*syscall.Stat_t); ok && s.Ino == m.Inode {
			return p, nil
		}
	}
	p = f.path(pid, "map_files", fmt.Sprintf("%x-%x", m.Start, m.End))
	if _, err := privilege.Stat(p); err != nil {
		return "", fmt.Errorf("open %s of process %d: %w", m.Path, pid, err)
	}
	return p, nil
}
