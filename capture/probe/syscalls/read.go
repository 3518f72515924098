package syscalls

import (
	"bytes"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

// touched is what was last told of something a process touched.
type touched struct {
	last SyscallsTouch
	path string
}

// watched is a process whose footprint is taken.
type watched struct {
	last  event.ProcessCPU
	inNS  uint64 // in system calls, on a CPU
	ended uint64 // Unix ns at which it ended, 0 if it lives
	final bool   // its CPU time was read after that
}

// Ended says that a process has ended: once more is read what it did, and then it
// is forgotten, so that there is room for others.
func (f *Footprint) Ended(pid uint32, at uint64) { f.proc(pid).ended = at }

// Unended says that a process that began has the id of one that ended.
func (f *Footprint) Unended(pid uint32) {
	if p := f.procs[pid]; p != nil {
		p.ended, p.final = 0, false
	}
}

func (f *Footprint) proc(pid uint32) *watched {
	p := f.procs[pid]
	if p == nil {
		p = &watched{}
		f.procs[pid] = p
	}
	return p
}

// Read tells what changed since the last Read. CPU times are read only if asked
// for: that looks at every thread of the machine.
func (f *Footprint) Read(now uint64, cpu bool) (event.Footprint, error) {
	r := event.Footprint{At: now}
	if cpu {
		if err := f.visit(); err != nil {
			return r, err
		}
	}
	steps := []func(*event.Footprint) error{
		f.readCalls, f.readErrors, f.readNames, f.readTouches, f.readMisses, f.readPrograms,
	}
	if cpu {
		steps = append(steps, f.readCPU)
	}
	for _, step := range steps {
		if err := step(&r); err != nil {
			return r, err
		}
	}
	if cpu {
		return r, f.forgetEnded()
	}
	return r, nil
}

func (f *Footprint) readCalls(r *event.Footprint) error {
	for _, p := range f.procs {
		p.inNS = 0
	}
	return kernel.Each(f.probe.Collection.Maps["call_sums"], func(k *SyscallsCallKey, v *SyscallsCallSum) error {
		f.proc(k.Tgid).inNS += v.Cpu
		last := f.calls[*k]
		if v.Calls == last.Calls {
			return nil
		}
		c := event.SyscallCount{
			At: r.At, PID: k.Tgid, Nr: uint16(k.Nr), Calls: v.Calls - last.Calls, Errors: v.Errors - last.Errors,
			NS: v.Ns - last.Ns, CPUNS: v.Cpu - last.Cpu,
		}
		if v.Max > last.Max {
			c.MaxNS = v.Max
		}
		f.calls[*k] = *v
		r.Syscalls = append(r.Syscalls, c)
		return nil
	})
}

func (f *Footprint) readErrors(r *event.Footprint) error {
	return kernel.Each(f.probe.Collection.Maps["errnos"], func(k *SyscallsErrnoKey, n *uint64) error {
		if f.errnos[*k] != *n {
			f.errnos[*k] = *n
			r.Errors = append(r.Errors, event.SyscallError{PID: k.Tgid, Nr: uint16(k.Nr), Errno: uint16(k.Err), Count: *n})
		}
		return nil
	})
}

func (f *Footprint) touchOf(k *SyscallsTouchKey) *touched {
	t := f.touch[*k]
	if t == nil {
		t = &touched{}
		f.touch[*k] = t
	}
	return t
}

// readNames takes the names out of their map, so that there is room for others.
func (f *Footprint) readNames(*event.Footprint) error {
	var done []SyscallsTouchKey
	err := kernel.Each(f.probe.Collection.Maps["names"], func(k *SyscallsTouchKey, v *SyscallsPathName) error {
		t := f.touchOf(k)
		t.path, t.last = pathOf(v), SyscallsTouch{} // tell it again
		done = append(done, *k)
		return nil
	})
	for i := range done {
		_ = f.probe.Collection.Maps["names"].Delete(&done[i]) // fails only if it is gone already
	}
	return err
}

// pathOf puts a path together whose last component comes first.
func pathOf(v *SyscallsPathName) string {
	b := v.B[:min(int(v.Len), len(v.B))]
	if len(b) > 0 && b[len(b)-1] != 0 || len(b) > 0 && b[0] == 0 || bytes.HasPrefix(b, []byte("/")) {
		return unixPath(b)
	}
	var parts []string
	for p := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		if len(p) > 0 {
			parts = append(parts, strings.ToValidUTF8(string(p), "\uFFFD"))
		}
	}
	slices.Reverse(parts)
	p := "/" + strings.Join(parts, "/")
	if v.Cut != 0 {
		return "…" + p
	}
	return p
}

// unixPath is the address of a unix socket; an abstract one begins with @.
func unixPath(b []byte) string {
	if len(b) > 0 && b[0] == 0 {
		b = append([]byte{'@'}, b[1:]...)
	} else if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func (f *Footprint) readTouches(r *event.Footprint) error {
	return kernel.Each(f.probe.Collection.Maps["touches"], func(k *SyscallsTouchKey, v *SyscallsTouch) error {
		t := f.touchOf(k)
		if t.last == *v {
			return nil
		}
		t.last = *v
		e := event.Touched{
			PID: k.Tgid, Kind: kindOf(v.Mode), Device: k.Dev, Inode: k.Ino, Generation: k.Gen, Path: t.path,
			Opens: v.Opens, Reads: v.Reads, ReadBytes: v.ReadBytes, Writes: v.Writes, WriteBytes: v.WriteBytes,
			Errors: v.Errors, First: v.First + f.probe.ToUnix,
		}
		switch e.Kind {
		case event.TouchSocket:
			e.Path, e.Endpoint = "", endpoint(v, t.path)
		case event.TouchPipe:
			if e.Path == "" {
				e.Path = fmt.Sprintf("pipe:[%d]", e.Inode)
			}
		}
		r.Touched = append(r.Touched, e)
		return nil
	})
}

func kindOf(mode uint32) event.TouchKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return event.TouchDirectory
	case unix.S_IFCHR, unix.S_IFBLK:
		return event.TouchDevice
	case unix.S_IFIFO:
		return event.TouchPipe
	case unix.S_IFSOCK:
		return event.TouchSocket
	}
	return event.TouchFile
}

var families = map[uint16]string{
	unix.AF_UNIX: "unix", unix.AF_INET: "inet", unix.AF_INET6: "inet6", unix.AF_NETLINK: "netlink",
	unix.AF_PACKET: "packet", unix.AF_VSOCK: "vsock",
}

var protocols = map[uint16]string{
	unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp", unix.IPPROTO_ICMP: "icmp", unix.IPPROTO_ICMPV6: "icmpv6",
	unix.IPPROTO_MPTCP: "mptcp", // what Go's servers listen with
}

func nameOr(names map[uint16]string, n uint16, what string) string {
	if name := names[n]; name != "" {
		return name
	}
	return fmt.Sprintf("%s-%d", what, n)
}

func endpoint(v *SyscallsTouch, unixPath string) event.Endpoint {
	e := event.Endpoint{
		Family: nameOr(families, v.Family, "family"), LocalPort: v.Lport, RemotePort: v.Rport,
		Peer: v.Peer, How: uint8(v.How),
	}
	switch v.Family {
	case unix.AF_UNIX:
		e.Remote = unixPath
	case unix.AF_INET, unix.AF_INET6:
		e.Protocol = nameOr(protocols, v.Protocol, "protocol")
		if v.Raddr != [16]uint8{} {
			e.Remote = netip.AddrFrom16(v.Raddr).Unmap().String()
		}
	}
	return e
}

func (f *Footprint) readMisses(r *event.Footprint) error {
	return kernel.Each(f.probe.Collection.Maps["misses"], func(k *SyscallsMissKey, n *uint64) error {
		if f.misses[*k] != *n {
			f.misses[*k] = *n
			r.Misses = append(r.Misses, event.Miss{PID: k.Tgid, Errno: uint16(k.Err), Path: cString(k.Path[:]), Count: *n})
		}
		return nil
	})
}

// cString is a string of C.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// readPrograms takes the programs out of their map.
func (f *Footprint) readPrograms(r *event.Footprint) error {
	var done []SyscallsExecKey
	err := kernel.Each(f.probe.Collection.Maps["execs"], func(k *SyscallsExecKey, v *SyscallsExecName) error {
		p := event.Program{At: k.At + f.probe.ToUnix, PID: k.Tgid, Path: cString(v.Path[:])}
		if args := bytes.TrimSuffix(v.Args[:min(int(v.ArgsLen), len(v.Args))], []byte{0}); len(args) > 0 {
			p.Args = strings.Split(strings.ToValidUTF8(string(args), "\uFFFD"), "\x00")
		}
		if p.Path == "" && len(p.Args) > 0 {
			p.Path = path.Base(p.Args[0])
		}
		r.Programs = append(r.Programs, p)
		done = append(done, *k)
		return nil
	})
	for i := range done {
		_ = f.probe.Collection.Maps["execs"].Delete(&done[i]) // fails only if it is gone already
	}
	slices.SortFunc(r.Programs, func(a, b event.Program) int { return int(int64(a.At - b.At)) })
	return err
}

func (f *Footprint) readCPU(r *event.Footprint) error {
	return kernel.Each(f.probe.Collection.Maps["cpu_sums"], func(pid *uint32, v *SyscallsCpuSum) error {
		p := f.proc(*pid)
		c := event.ProcessCPU{PID: *pid, NS: v.Ended, InNS: p.inNS, Ended: p.ended}
		if v.Visit == f.visits {
			c.NS += v.Living
		}
		c.InNS = min(c.InNS, c.NS)
		if c != p.last {
			p.last = c
			r.CPU = append(r.CPU, c)
		}
		p.final = p.ended != 0
		return nil
	})
}

// forgetEnded makes room by dropping processes that ended and were told of.
func (f *Footprint) forgetEnded() error {
	gone := map[uint32]bool{}
	for pid, p := range f.procs {
		if p.final {
			gone[pid] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	drop(f, "call_sums", f.calls, func(k *SyscallsCallKey) bool { return gone[k.Tgid] })
	drop(f, "errnos", f.errnos, func(k *SyscallsErrnoKey) bool { return gone[k.Tgid] })
	drop(f, "touches", f.touch, func(k *SyscallsTouchKey) bool { return gone[k.Tgid] })
	drop(f, "misses", f.misses, func(k *SyscallsMissKey) bool { return gone[k.Tgid] })
	drop(f, "cpu_sums", f.procs, func(pid *uint32) bool { return gone[*pid] })
	return nil
}

// drop deletes keys from a map of the kernel and from our copy of it.
func drop[K comparable, V any](f *Footprint, name string, have map[K]V, gone func(*K) bool) {
	for k := range have {
		if gone(&k) {
			_ = f.probe.Collection.Maps[name].Delete(&k) // fails only if it is gone already
			delete(have, k)
		}
	}
}
