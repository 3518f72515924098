package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertFootprint(f *event.Footprint) error {
	id := w.session.id
	var err error
	put := func(query string, args ...any) {
		if err == nil {
			w.txRows++
			err = sqlitex.Execute(w.conn, query, &sqlitex.ExecOptions{Args: args})
		}
	}
	w.session.count(f.At, f.At, 0)
	for i := range f.Syscalls {
		c := &f.Syscalls[i]
		put("insert or replace into syscall_second values (?, ?, ?, ?, ?, ?, ?, ?, ?)", int64(c.At), id, int64(c.PID),
			int64(c.Nr),
			int64(c.Calls), nullInt(c.Errors), int64(c.NS), int64(c.CPUNS), nullInt(c.MaxNS))
	}
	for _, e := range f.Errors {
		put("insert or replace into syscall_error values (?, ?, ?, ?, ?, ?)", id, int64(e.PID), int64(e.Nr), int64(e.Errno),
			event.ErrnoName(e.Errno), int64(e.Count))
	}
	for i := range f.Touched {
		t := &f.Touched[i]
		e := &t.Endpoint
		put("insert or replace into touched values ("+values(21)+")", id, int64(t.PID), int64(t.Device), int64(t.Inode),
			int64(t.Generation),
			int64(t.Kind), t.Path, int64(t.Opens), int64(t.Reads), int64(t.ReadBytes), int64(t.Writes), int64(t.WriteBytes),
			int64(t.Errors),
			int64(t.First), nullText(e.Family), nullText(e.Protocol), nullInt(uint64(e.LocalPort)),
			nullInt(uint64(e.RemotePort)),
			nullText(e.Remote), nullInt(uint64(e.Peer)), nullInt(uint64(e.How)))
	}
	for _, m := range f.Misses {
		put("insert or replace into path_miss values (?, ?, ?, ?, ?, ?)", id, int64(m.PID), int64(m.Errno), m.Path,
			event.ErrnoName(m.Errno), int64(m.Count))
	}
	for _, p := range f.Programs {
		args, _ := json.Marshal(append([]string{}, p.Args...)) // strings cannot fail
		put("insert or replace into program values (?, ?, ?, ?, ?)", int64(p.At), id, int64(p.PID), p.Path, string(args))
	}
	for _, l := range f.Libraries {
		put("insert or replace into mapped_library values (?, ?, ?)", id, int64(l.PID), l.Path)
	}
	for _, c := range f.CPU {
		put("insert or replace into process_cpu values (?, ?, ?, ?, ?, ?, ?, ?)", id, int64(c.PID), nullInt(uint64(c.Parent)),
			c.Comm,
			int64(c.First), nullInt(c.Ended), int64(c.NS), int64(c.InNS))
	}
	return err
}

// footprintRead is a table of footprints, and how a row of it is read; i is a column's index.
type footprintRead struct {
	query string
	args  []int64
	row   func(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt)
}

// footprintReads are the tables, with their queries for a window.
func footprintReads(w store.Window) []footprintRead {
	// Totals are not kept by the second: they are those of the sessions that counted anything
	// in the window.
	const there = " where session in (select session from syscall_second where ts between ? and ?)"
	return []footprintRead{
		{
			"select ts, pid, nr, calls, errors, sum, cpu, max from syscall_second where ts between ? and ? order by ts, pid, nr",
			bounds(w), func(f *event.Footprint, i func(int) uint64, _ *sqlite.Stmt) {
				f.Syscalls = append(f.Syscalls, event.SyscallCount{
					At: i(0), PID: uint32(i(1)), Nr: uint16(i(2)), Calls: i(3), Errors: i(4), NS: i(5), CPUNS: i(6), MaxNS: i(7),
				})
			},
		},
		{
			"select pid, nr, errno, count from syscall_error" + there + " order by session, pid, nr, errno", bounds(w),
			func(f *event.Footprint, i func(int) uint64, _ *sqlite.Stmt) {
				f.Errors = append(f.Errors,
					event.SyscallError{PID: uint32(i(0)), Nr: uint16(i(1)), Errno: uint16(i(2)), Count: i(3)})
			},
		},
		{
			`select pid, kind, device, inode, generation, path, opens, reads, read_bytes, writes, write_bytes, errors, first,
			family, protocol, local_port, remote_port, remote, peer, how
			from touched` + there + " order by session, pid, device, inode, generation",
			bounds(w), readTouched,
		},
		{
			"select pid, errno, path, count from path_miss" + there + " order by session, pid, errno, path", bounds(w),
			func(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt) {
				f.Misses = append(f.Misses, event.Miss{PID: uint32(i(0)), Errno: uint16(i(1)), Path: s.ColumnText(2), Count: i(3)})
			},
		},
		{
			"select ts, pid, path, args from program where ts between ? and ? order by ts, pid", bounds(w),
			func(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt) {
				p := event.Program{At: i(0), PID: uint32(i(1)), Path: s.ColumnText(2)}
				if json.Unmarshal([]byte(s.ColumnText(3)), &p.Args) != nil || len(p.Args) == 0 {
					p.Args = nil // the program's arguments, as last known
				}
				f.Programs = append(f.Programs, p)
			},
		},
		{
			"select pid, path from mapped_library" + there + " order by session, pid, path", bounds(w),
			func(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt) {
				f.Libraries = append(f.Libraries, event.MappedLibrary{PID: uint32(i(0)), Path: s.ColumnText(1)})
			},
		},
		{
			"select pid, parent, comm, first, ended, cpu, kernel from process_cpu" + there + " order by session, pid", bounds(w),
			func(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt) {
				f.CPU = append(f.CPU, event.ProcessCPU{
					PID: uint32(i(0)), Parent: uint32(i(1)), Comm: s.ColumnText(2), First: i(3), Ended: i(4), NS: i(5), InNS: i(6),
				})
			},
		},
	}
}

// readTouched reads a row of the table touched.
func readTouched(f *event.Footprint, i func(int) uint64, s *sqlite.Stmt) {
	f.Touched = append(f.Touched, event.Touched{
		PID: uint32(i(0)), Kind: event.TouchKind(i(1)), Device: uint32(i(2)), Inode: i(3), Generation: uint32(i(4)),
		Path:  s.ColumnText(5),
		Opens: i(6), Reads: i(7), ReadBytes: i(8), Writes: i(9), WriteBytes: i(10), Errors: i(11), First: i(12),
		Endpoint: event.Endpoint{
			Family: s.ColumnText(13), Protocol: s.ColumnText(14), LocalPort: uint16(i(15)), RemotePort: uint16(i(16)),
			Remote: s.ColumnText(17),
			Peer:   uint32(i(18)), How: uint8(i(19)),
		},
	})
}

// Footprint implements store.Reader.
func (r *Reader) Footprint(ctx context.Context, w store.Window) (event.Footprint, error) {
	var f event.Footprint
	if ok, err := r.has(ctx, "syscall_second"); err != nil || !ok {
		return f, err
	}
	for _, step := range footprintReads(w) {
		err := r.rows(ctx, step.query, step.args, func(s *sqlite.Stmt) error {
			step.row(&f, func(n int) uint64 { return uint64(s.ColumnInt64(n)) }, s)
			return nil
		})
		if err != nil {
			return f, fmt.Errorf("read footprint: %w", err)
		}
	}
	return f, nil
}
