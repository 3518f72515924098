// Package footprint sums the system calls of processes, and the files, sockets and programs that they used, for the
// end of a trace and for the explanation of a recording. It is pure: no file, no clock.
package footprint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// maxEntries bounds the entries of a kind: a shell loop starts more processes than are worth listing.
const maxEntries = 1 << 16

// Sum is the footprint of processes since it began. Use New.
type Sum struct {
	arch     string
	syscalls map[syscallKey]*report.FootprintSyscall
	touched  map[touchKey]event.Touched
	misses   map[missKey]uint64
	programs []event.Program
	libs     map[event.MappedLibrary]bool
	cpu      map[uint32]event.ProcessCPU
	leftOut  uint64
	over     uint64 // Unix ns at which counting ended because CUDA was loaded
}

type (
	syscallKey struct {
		pid uint32
		nr  uint16
	}
	touchKey struct {
		pid, device, generation uint32
		inode                   uint64
	}
	missKey struct {
		pid   uint32
		errno uint16
		path  string
	}
)

// New returns an empty sum. The architecture defines the system calls' numbers.
func New(arch string) *Sum {
	return &Sum{
		arch: arch, syscalls: map[syscallKey]*report.FootprintSyscall{}, touched: map[touchKey]event.Touched{},
		misses: map[missKey]uint64{},
		libs:   map[event.MappedLibrary]bool{}, cpu: map[uint32]event.ProcessCPU{},
	}
}

// IsZero reports whether nothing was added.
func (s *Sum) IsZero() bool {
	return len(s.syscalls)+len(s.touched)+len(s.misses)+len(s.programs)+len(s.libs)+len(s.cpu) == 0
}

// Over notes that nothing was counted after a time (Unix ns), because CUDA was loaded.
func (s *Sum) Over(at uint64) { s.over = at }

// taken returns the length in ns of a footprint that ended early.
func (s *Sum) taken() uint64 {
	first := s.over
	for _, c := range s.cpu {
		first = min(first, c.First)
	}
	return s.over - first
}

// room reports whether one more entry may be kept; if not, it counts it as left out.
func (s *Sum) room(n int, known bool) bool {
	if known || n < maxEntries {
		return true
	}
	s.leftOut++
	return false
}

// Add adds changes.
func (s *Sum) Add(f *event.Footprint) {
	for i := range f.Syscalls {
		c := &f.Syscalls[i]
		if x := s.syscall(c.PID, c.Nr); x != nil {
			x.Calls += c.Calls
			x.Errors += c.Errors
			x.TotalNS += c.NS
			x.CPUNS += c.CPUNS
			x.MaxNS = max(x.MaxNS, c.MaxNS)
		}
	}
	for _, e := range f.Errors {
		if x := s.syscall(e.PID, e.Nr); x != nil {
			x.Errnos[event.ErrnoName(e.Errno)] = e.Count
		}
	}
	for i := range f.Touched {
		t := &f.Touched[i]
		k := touchKey{t.PID, t.Device, t.Generation, t.Inode}
		if _, known := s.touched[k]; s.room(len(s.touched), known) {
			s.touched[k] = *t
		}
	}
	for _, m := range f.Misses {
		k := missKey{m.PID, m.Errno, m.Path}
		if _, known := s.misses[k]; s.room(len(s.misses), known) {
			s.misses[k] = m.Count
		}
	}
	for _, p := range f.Programs {
		if s.room(len(s.programs), false) {
			s.programs = append(s.programs, p)
		}
	}
	for _, l := range f.Libraries {
		if s.room(len(s.libs), s.libs[l]) {
			s.libs[l] = true
		}
	}
	for _, c := range f.CPU {
		if _, known := s.cpu[c.PID]; s.room(len(s.cpu), known) {
			s.cpu[c.PID] = c
		}
	}
}

func (s *Sum) syscall(pid uint32, nr uint16) *report.FootprintSyscall {
	k := syscallKey{pid, nr}
	x := s.syscalls[k]
	if x == nil && s.room(len(s.syscalls), false) {
		x = &report.FootprintSyscall{PID: pid, Syscall: event.SyscallName(s.arch, int(nr)), Errnos: map[string]uint64{}}
		s.syscalls[k] = x
	}
	return x
}

// Report returns the sorted entries; nil if there are none.
func (s *Sum) Report() *report.Footprint {
	if s == nil || s.IsZero() {
		return nil
	}
	r := &report.Footprint{
		Processes: []report.FootprintProcess{}, Syscalls: []report.FootprintSyscall{}, Files: []report.FootprintFile{},
		Sockets: []report.FootprintSocket{},
		Missing: []report.FootprintMissing{}, Programs: []report.FootprintProgram{}, Libraries: []report.FootprintLibrary{},
		LeftOut: s.leftOut,
		UntilNS: s.taken(),
	}
	for _, x := range s.syscalls {
		r.Syscalls = append(r.Syscalls, *x)
	}
	slices.SortFunc(r.Syscalls, func(a, b report.FootprintSyscall) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Syscall, b.Syscall), cmp.Compare(a.PID, b.PID))
	})
	s.processes(r)
	s.things(r)
	for k, n := range s.misses {
		r.Missing = append(r.Missing, report.FootprintMissing{
			PID: k.pid, Path: k.path, Error: event.ErrnoName(k.errno), Count: n,
		})
	}
	slices.SortFunc(r.Missing, func(a, b report.FootprintMissing) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Path, b.Path), cmp.Compare(a.PID, b.PID),
			cmp.Compare(a.Error, b.Error))
	})
	for _, p := range s.programs {
		r.Programs = append(r.Programs,
			report.FootprintProgram{PID: p.PID, AtNS: p.At, Path: p.Path, Args: append([]string{}, p.Args...)})
	}
	slices.SortStableFunc(r.Programs, func(a, b report.FootprintProgram) int { return cmp.Compare(a.AtNS, b.AtNS) })
	for l := range s.libs {
		r.Libraries = append(r.Libraries, report.FootprintLibrary(l))
	}
	slices.SortFunc(r.Libraries, func(a, b report.FootprintLibrary) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.PID, b.PID))
	})
	return r
}

// processes lists all processes with entries, those with most calls first.
func (s *Sum) processes(r *report.Footprint) {
	all := map[uint32]*report.FootprintProcess{}
	of := func(pid uint32) *report.FootprintProcess {
		if all[pid] == nil {
			all[pid] = &report.FootprintProcess{PID: pid}
		}
		return all[pid]
	}
	for pid, c := range s.cpu {
		p := of(pid)
		p.Parent, p.Process, p.FirstNS, p.EndedNS = c.Parent, c.Comm, c.First, c.Ended
		p.CPUNS, p.KernelNS, p.UserNS = c.NS, c.InNS, c.NS-min(c.InNS, c.NS)
	}
	for i := range r.Syscalls {
		c := &r.Syscalls[i]
		p := of(c.PID)
		p.Syscalls += c.Calls
		p.Errors += c.Errors
	}
	for _, pid := range slices.Sorted(maps.Keys(all)) {
		r.Processes = append(r.Processes, *all[pid])
	}
	slices.SortStableFunc(r.Processes, func(a, b report.FootprintProcess) int {
		return cmp.Or(cmp.Compare(b.CPUNS, a.CPUNS), cmp.Compare(b.Syscalls, a.Syscalls))
	})
}

// things lists files and sockets, those with most bytes first.
func (s *Sum) things(r *report.Footprint) {
	for _, t := range s.touched {
		if t.Kind != event.TouchSocket {
			r.Files = append(r.Files, report.FootprintFile{
				PID: t.PID, Kind: t.Kind.String(), Path: cmp.Or(t.Path, fmt.Sprintf("inode %d", t.Inode)), Opens: t.Opens,
				Reads: t.Reads, ReadBytes: t.ReadBytes, Writes: t.Writes, WriteBytes: t.WriteBytes, Errors: t.Errors,
			})
			continue
		}
		e := &t.Endpoint
		r.Sockets = append(r.Sockets, report.FootprintSocket{
			PID: t.PID, Family: e.Family, Protocol: e.Protocol, Role: Role(e.How), Remote: e.Remote, RemotePort: e.RemotePort,
			LocalPort: e.LocalPort, Peer: e.Peer, Opens: t.Opens, ReadBytes: t.ReadBytes, WriteBytes: t.WriteBytes,
			Errors: t.Errors,
		})
	}
	slices.SortFunc(r.Files, func(a, b report.FootprintFile) int {
		return cmp.Or(cmp.Compare(b.ReadBytes+b.WriteBytes, a.ReadBytes+a.WriteBytes), cmp.Compare(b.Opens, a.Opens),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.PID, b.PID))
	})
	slices.SortFunc(r.Sockets, func(a, b report.FootprintSocket) int {
		return cmp.Or(cmp.Compare(b.ReadBytes+b.WriteBytes, a.ReadBytes+a.WriteBytes), cmp.Compare(a.Remote, b.Remote),
			cmp.Compare(a.RemotePort, b.RemotePort), cmp.Compare(a.LocalPort, b.LocalPort), cmp.Compare(a.PID, b.PID))
	})
}

// Role describes how a process got a socket.
func Role(how uint8) string {
	switch {
	case how&event.HowConnect != 0:
		return "connect"
	case how&event.HowAccept != 0:
		return "accept"
	case how&event.HowListen != 0:
		return "listen"
	}
	return ""
}
