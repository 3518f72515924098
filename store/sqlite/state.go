package sqlite

import (
	"slices"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// sessionRow is the part of the session table that changes.
type sessionRow struct {
	id      int64
	first   uint64
	last    uint64
	calls   uint64
	stored  uint64
	pruned  uint64
	stopped uint64
}

// count takes an event's span and number of calls into the session's totals.
func (s *sessionRow) count(start, end, calls uint64) {
	if s.first == 0 || start < s.first {
		s.first = start
	}
	s.last = max(s.last, end)
	s.calls += calls
}

type processRow struct {
	id int64 // row, 0 until written
	store.Process
	dirty bool
}

type lossKey struct {
	second uint64
	kind   event.LossKind
}

type lossRow struct {
	count uint64
	dirty bool
}

// maxQueued bounds the stacks in memory while none can be written; they have some 5 KiB each.
const maxQueued = 4096

// unixOf is a process's start by the kernel, ns since the boot, in Unix ns; 0 if it is not known.
func (w *Writer) unixOf(born uint64) uint64 {
	if born == 0 {
		return 0
	}
	return w.opt.Session.Booted + born
}

// ticksOf is the start of a process, Unix ns, in clock ticks since the boot, as the table process has it; 0 if it is
// not known.
func (w *Writer) ticksOf(unix uint64) uint64 {
	if unix == 0 {
		return 0
	}
	return (unix - w.opt.Session.Booted) / clockTick
}

// clockTick is the unit of /proc/PID/stat, ns.
const clockTick = 10_000_000

// describe takes names, processes and stacks from a batch, before the events that refer to them.
func (w *Writer) describe(b *store.Batch) {
	for i := range b.Threads {
		t := &b.Threads[i]
		row := w.threads.bornAt(t.Thread, t.Comm, w.unixOf(t.Born), 0, t.At)
		if t.Dispatch && !row.dispatch {
			row.dispatch = true
			w.threads.touch(row)
		}
	}
	for i := range b.Processes {
		p := &b.Processes[i]
		row := w.procs[p.PID]
		if row == nil {
			row = &processRow{}
			w.procs[p.PID] = row
		}
		if row.Process != *p {
			row.Process, row.dirty = *p, true
		}
	}
	for i := range b.Stacks {
		s := &b.Stacks[i]
		if _, known := w.stacks.ids[s.ID]; !known && len(w.queued) >= maxQueued { // not even its id
			w.lostStored(1)
			continue
		}
		id := w.stackID(s.ID)
		if id == 0 || w.framed[id] {
			continue
		}
		if len(w.queued) >= maxQueued {
			w.lostStored(1)
			continue
		}
		w.framed[id] = true
		w.queued = append(w.queued, event.Stack{ID: s.ID, PID: s.PID, Frames: slices.Clone(s.Frames), Cut: s.Cut})
	}
}

// kernelStack is the id of a stack of bare kernel addresses, 0 for none.
func (w *Writer) kernelStack(addrs []uint64) int64 {
	hash := store.KernelStackID(addrs)
	if hash == 0 {
		return 0
	}
	id := w.stackID(hash)
	if id != 0 && !w.framed[id] {
		w.framed[id] = true
		s := event.Stack{ID: hash}
		for _, a := range addrs {
			s.Frames = append(s.Frames, event.Frame{Kind: event.FrameKernel, Addr: a, Module: "kernel"})
		}
		w.queued = append(w.queued, s)
	}
	return id
}

// writeState writes everything kept in memory for this transaction: dictionaries, roll-ups, losses
// and the session's totals. Written entries stay marked until the commit.
func (w *Writer) writeState() error {
	for _, f := range []func() error{
		w.writeFrames, w.writeProcesses, w.writeDictionaries, w.writeSums, w.writeLosses, w.writeOutage, w.writeSession,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeDictionaries() error {
	for _, t := range w.threads.fresh {
		err := sqlitex.Execute(w.conn, "insert or replace into thread values (?, ?, ?, ?, ?, ?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{
				t.id, w.session.id, int64(t.PID), int64(t.TID), t.comm, t.dispatch, nullInt(t.ended), nullInt(w.ticksOf(t.born)),
			}})
		if err != nil {
			return err
		}
	}
	b := w.ins.args
	for _, e := range w.args.fresh {
		b.set(1, e.id)
		for i, v := range e.key {
			b.opt(2+i, int64(v))
		}
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	for _, e := range w.cgroups.fresh {
		if err := exec(w.conn, "insert or replace into cgroup values (?, ?)", e.id, e.key); err != nil {
			return err
		}
	}
	for _, e := range w.stacks.fresh {
		err := sqlitex.Execute(w.conn, "insert into stack (id, hash) values (?, ?) on conflict (id) do nothing",
			&sqlitex.ExecOptions{Args: []any{e.id, int64(e.key)}})
		if err != nil {
			return err
		}
	}
	for _, e := range w.frames.fresh {
		f := &e.key
		err := sqlitex.Execute(w.conn, "insert or replace into frame values (?, ?, ?, ?, ?, ?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{
				e.id, int64(f.Kind), int64(f.Addr), f.Symbol, f.File, int64(f.Line), f.Module,
				int64(f.Offset),
			}})
		if err == nil && f.BuildID != "" {
			err = exec(w.conn, "insert or replace into frame_build values (?, ?)", e.id, f.BuildID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFrames writes the queued stacks. It comes before writeDictionaries,
// which writes the frames it finds.
func (w *Writer) writeFrames() error {
	for i := range w.queued {
		s := &w.queued[i]
		id := w.stackID(s.ID)
		err := sqlitex.Execute(w.conn,
			"insert into stack (id, hash, pid) values (?1, ?2, ?3) on conflict (id) do update set pid = ?3",
			&sqlitex.ExecOptions{Args: []any{id, int64(s.ID), int64(s.PID)}})
		if err == nil && s.Cut {
			err = exec(w.conn, "insert or replace into stack_cut values (?)", id)
		}
		if err != nil {
			return err
		}
		for depth := range s.Frames {
			err := sqlitex.Execute(w.conn, "insert or replace into stack_entry values (?, ?, ?)",
				&sqlitex.ExecOptions{Args: []any{id, depth, w.frames.id(s.Frames[depth])}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// keptProcesses is how many rows of process are known without asking the file.
const keptProcesses = 2048

// writeProcesses comes before writeDictionaries, too, which writes the control
// groups it finds.
func (w *Writer) writeProcesses() error {
	for _, p := range w.procs {
		if !p.dirty {
			continue
		}
		if p.id == 0 {
			n, err := queryInt(w.conn, "select coalesce((select id from process where pid = ? and session = ?), "+
				"(select max(id) + 1 from process), 1)", int64(p.PID), w.session.id)
			if err != nil {
				return err
			}
			p.id = n
		}
		var cgroup any
		if p.Cgroup != "" {
			cgroup = w.cgroups.id(p.Cgroup)
		}
		err := exec(w.conn, "insert or replace into process values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			p.id, w.session.id, int64(p.PID), int64(p.Parent), p.Name, p.Command, cgroup,
			orNull(p.Rank), orNull(p.LocalRank), orNull(p.WorldSize), p.Traced, nullText(string(p.Framework)), nullInt(p.Born))
		if err != nil {
			return err
		}
		if err := w.writeOwner(p.id, &p.Owner); err != nil {
			return err
		}
	}
	return nil
}

func orNull(n int) any {
	if n < 0 {
		return nil
	}
	return n
}

func (w *Writer) writeLosses() error {
	for k, l := range w.losses {
		if !l.dirty {
			continue
		}
		b := w.ins.loss
		b.set(1, int64(k.second))
		b.set(2, w.session.id)
		b.set(3, int64(k.kind))
		b.set(4, int64(l.count))
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeSession() error {
	s := &w.session
	return sqlitex.Execute(w.conn, `update session set flushed_ns = ?, stopped_ns = ?, first_ns = ?, last_ns = ?,
		calls = ?, stored = ?, pruned = ? where id = ?`, &sqlitex.ExecOptions{Args: []any{
		w.opt.Now().UnixNano(), int64(s.stopped), int64(s.first), int64(s.last),
		int64(s.calls), int64(s.stored), int64(s.pruned), s.id,
	}})
}

// committed clears the marks of entries that are now on disk and forgets old seconds.
func (w *Writer) committed() {
	w.threads.committed()
	w.args.fresh = w.args.fresh[:0]
	w.cgroups.fresh = w.cgroups.fresh[:0]
	w.stacks.fresh = w.stacks.fresh[:0]
	w.frames.fresh = w.frames.fresh[:0]
	w.queued = nil
	w.forgetValues()
	for _, p := range w.procs {
		p.dirty = false
	}
	if len(w.procs) > keptProcesses {
		clear(w.procs)
	}
	for _, k := range w.kinds {
		k.committed()
	}
	now := uint64(w.opt.Now().UnixNano()) / second
	for k, l := range w.losses {
		l.dirty = false
		if k.second+keepSeconds < now {
			delete(w.losses, k)
		}
	}
	w.forgetSeconds()
}
