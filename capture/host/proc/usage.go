package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/privilege"
)

// Usage is a process's use of memory: running totals of faults, and its current memory.
type Usage struct {
	MinorFaults, MajorFaults uint64 // since its start; major ones read from a disk
	RSS, Swap                uint64 // bytes
	Private                  uint64 // bytes of RSS that are neither of a file nor shared
}

// Usage reads how a process uses memory. One that has ended and is not reaped yet uses none: that is
// an error, as if it were gone.
func (f FS) Usage(pid int) (u Usage, err error) {
	fields, err := f.stat(pid) // from the third on: state
	if err != nil {
		return u, err
	}
	if len(fields) < 22 {
		return u, fmt.Errorf("read stat of process %d: only %d fields", pid, len(fields)+2)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return u, fmt.Errorf("read stat of process %d: it has ended", pid)
	}
	pages := uint64(0)
	for _, v := range []struct {
		to *uint64
		n  int // as proc_pid_stat(5) counts
	}{{&u.MinorFaults, 10}, {&u.MajorFaults, 12}, {&pages, 24}} {
		if *v.to, err = strconv.ParseUint(fields[v.n-3], 10, 64); err != nil {
			return u, fmt.Errorf("read stat of process %d: %w", pid, err)
		}
	}
	u.RSS = pages * uint64(os.Getpagesize())
	status, err := small(f.path(pid, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		name, v, _ := strings.Cut(line, ":")
		to := map[string]*uint64{"VmSwap": &u.Swap, "RssAnon": &u.Private}[name]
		if to == nil {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
		if err != nil {
			return u, fmt.Errorf("read status of process %d: %w", pid, err)
		}
		*to = kib << 10
	}
	return u, nil
}

// maxDescriptors bounds how many of a process's files are searched.
const maxDescriptors = 1024

// OpenPaths returns the paths of those of the files with the inodes that the process has open.
func (f FS) OpenPaths(pid int, inodes []uint64) map[uint64]string {
	dir := f.path(pid, "fd")
	d, err := privilege.Open(dir)
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(maxDescriptors) // a partial list is used
	d.Close()                                  // read only
	r := map[uint64]string{}
	for _, n := range names {
		var st syscall.Stat_t
		p := filepath.Join(dir, n)
		err := privilege.For(p, func() error { return syscall.Stat(p, &st) })
		if err != nil || !slices.Contains(inodes, st.Ino) || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
			continue
		}
		if target, err := privilege.Readlink(p); err == nil && strings.HasPrefix(target, "/") {
			r[st.Ino] = target
		}
	}
	return r
}

// MappedPaths returns the paths of those of the files with the inodes that the process has mapped.
// Of a process with a thousand mappings that takes some milliseconds.
func (f FS) MappedPaths(pid int, inodes []uint64) map[uint64]string {
	r := map[uint64]string{}
	maps, err := f.mappings(pid, func(m *Mapping) bool {
		return strings.HasPrefix(m.Path, "/") && slices.Contains(inodes, m.Inode)
	})
	if err != nil {
		return nil
	}
	for i := range maps {
		if _, ok := r[maps[i].Inode]; !ok {
			r[maps[i].Inode] = maps[i].Path
		}
	}
	return r
}

// Sockets returns those of the given sockets, by inode, that the process has open, and how many of its descriptors it
// looked at: most at most.
func (f FS) Sockets(pid int, inodes map[uint64]bool, most int) (open []uint64, looked int) {
	dir := f.path(pid, "fd")
	d, err := privilege.Open(dir)
	if err != nil {
		return nil, 0
	}
	names, _ := d.Readdirnames(most) // a partial list is used
	d.Close()                        // read only
	for _, n := range names {
		target, err := privilege.Readlink(filepath.Join(dir, n))
		number, ok := strings.CutPrefix(target, "socket:[")
		if err != nil || !ok {
			continue
		}
		if i, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil && inodes[i] {
			open = append(open, i)
		}
	}
	return open, len(names)
}

// BlockDevice names the block device with the number, "nvme0n1"; sys is the root of
// sysfs, empty for /sys.
func BlockDevice(sys string, major, minor uint32) string {
	if sys == "" {
		sys = "/sys"
	}
	target, err := os.Readlink(filepath.Join(sys, "dev/block", fmt.Sprintf("%d:%d", major, minor)))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}
