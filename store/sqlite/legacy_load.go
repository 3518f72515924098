package sqlite

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// legacyRows is a recording by an earlier Ingero in memory. A call's ledger is computed from other
// rows, so all are needed for any call.
type legacyRows struct {
	calls  []event.Call              // by start, outer ones first
	ids    []string                  // of calls
	off    []interval                // by start
	names  map[uint32]string         // of processes and threads
	shared map[uint32]string         // likewise, by process id on any node: the file does not say which
	lives  []event.Life              // by time
	procs  map[uint32]*store.Process // with events
	named  []store.Process           // without events: those whose node and name are known
	nodes  []string
	first  uint64
	last   uint64
	counts []legacyCount
}

// legacyCount is a row of event_aggregates: the number of events in a minute, whether stored or
// not.
type legacyCount struct {
	from           uint64 // Unix ns
	pid            uint32
	op             event.Op
	count          uint64
	sum, min, max  uint64 // ns
	bytes          uint64 // sum of the first argument
	isSwitch, call bool
}

// minute is the length of a legacyCount in ns.
const minute = 60 * second

// load reads the recording once.
func (r *legacyReader) load(ctx context.Context) (*legacyRows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows != nil {
		return r.rows, nil
	}
	e := &legacyRows{procs: map[uint32]*store.Process{}}
	l := &legacyLoader{legacyReader: r, legacyRows: e, unknown: map[string]event.Op{}}
	for _, step := range []func(context.Context) error{
		l.readThreads, l.readCalls, l.readOffCPU, l.readLives, l.readCounts,
		l.readBounds,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	l.account()
	r.rows = e
	return e, nil
}

// legacyLoader fills legacyRows.
type legacyLoader struct {
	*legacyReader
	*legacyRows
	owner map[uint32]int          // the first node that uses a process or thread id
	disk  map[event.Thread][]span // requests of a thread to block devices

	unknown map[string]event.Op // numbers of operations that are not in the catalogue
}

type span struct{ from, to uint64 } // Unix ns

// interval is an interval off the CPU. There may be millions.
type interval struct {
	span
	event.Thread
	op       event.Op // the call it began in, 0 between calls
	class    event.Class
	dispatch bool
}

// idShift is above every possible process id (PID_MAX_LIMIT, 4,194,304).
const idShift = 22

// id makes the ids of several nodes in a merged file distinct: those of all nodes but the first get
// the node's number above the process id.
func (l *legacyLoader) id(node string, id int64) uint32 {
	n := slices.Index(l.nodes, node)
	if first, ok := l.owner[uint32(id)]; !ok || first == n {
		return uint32(id)
	}
	return uint32(id) | uint32(n)<<idShift
}

func (l *legacyLoader) thread(s *sqlite.Stmt, node string, pid int) event.Thread {
	return event.Thread{PID: l.id(node, s.ColumnInt64(pid)), TID: l.id(node, s.ColumnInt64(pid+1))}
}

func (l *legacyLoader) readThreads(ctx context.Context) error {
	l.owner = map[uint32]int{}
	err := l.Reader.rows(ctx,
		`select node, pid, tid, max(rank), max(local_rank), max(world_size), max(source in (1, 4, 8, 9))
		from earlier_events group by node, pid, tid order by node, pid, tid`, nil, l.addThread)
	if err != nil {
		return err
	}
	l.names, l.shared = map[uint32]string{}, map[uint32]string{}
	err = l.Reader.rows(ctx, "select pid, name, node from earlier_process_names order by pid, node", nil, l.addName)
	for pid, p := range l.procs {
		p.Name = l.comm(event.Thread{PID: pid, TID: pid})
		if pid>>idShift != 0 {
			p.Name += "@" + p.Node
		}
	}
	return err
}

func (l *legacyLoader) addName(s *sqlite.Stmt) error {
	pid, name, node := uint32(s.ColumnInt64(0)), s.ColumnText(1), s.ColumnText(2)
	if node == "" {
		l.shared[pid] = name
		return nil
	}
	id := l.claim(node, pid)
	l.names[id] = name
	if id != pid {
		name += "@" + node
	}
	if l.procs[id] == nil {
		l.named = append(l.named, store.Process{PID: id, Name: name, Node: node, Rank: -1, LocalRank: -1, WorldSize: -1})
	}
	return nil
}

// claim is the id of a process or thread of a node. The first node that has the id keeps it
// unchanged.
func (l *legacyLoader) claim(node string, id uint32) uint32 {
	n := slices.Index(l.nodes, node)
	if n < 0 {
		n, l.nodes = len(l.nodes), append(l.nodes, node)
	}
	if _, ok := l.owner[id]; !ok {
		l.owner[id] = n
	}
	return l.id(node, int64(id))
}

func (l *legacyLoader) addThread(s *sqlite.Stmt) error {
	node := s.ColumnText(0)
	for _, id := range []int64{s.ColumnInt64(1), s.ColumnInt64(2)} {
		l.claim(node, uint32(id))
	}
	t := l.thread(s, node, 1)
	p := l.procs[t.PID]
	if p == nil {
		p = &store.Process{PID: t.PID, Node: node, Rank: -1, LocalRank: -1, WorldSize: -1}
		l.procs[t.PID] = p
	}
	p.Rank, p.LocalRank, p.WorldSize = max(p.Rank, orMinus(s, 3)), max(p.LocalRank, orMinus(s, 4)),
		max(p.WorldSize, orMinus(s, 5))
	p.Traced = p.Traced || s.ColumnInt64(6) != 0
	return nil
}

func (l *legacyLoader) readCalls(ctx context.Context) error {
	return l.Reader.rows(ctx,
		`select node, pid, tid, timestamp, duration, source, op, gpu_id, arg0, arg1, ret_code, stack_hash, id
		from earlier_event where source in (1, 4, 8, 9) order by timestamp, duration desc`, nil, func(s *sqlite.Stmt) error {
			c := event.Call{
				Thread: l.thread(s, s.ColumnText(0), 1), Start: nonNegative(s, 3), Duration: nonNegative(s, 4),
				Op: l.op(s.ColumnInt64(5), s.ColumnText(6)), GPU: event.NoGPU, Ret: int32(s.ColumnInt64(10)),
				Stack: uint64(s.ColumnInt64(11)), Weight: 1,
			}
			// 0 was also written when the device was unknown.
			if gpu := s.ColumnInt64(7); gpu > 0 && gpu < 128 {
				c.GPU = int8(gpu)
			}
			c.Args[0], c.Args[1] = uint64(s.ColumnInt64(8)), uint64(s.ColumnInt64(9))
			l.calls, l.ids = append(l.calls, c), append(l.ids, s.ColumnText(12))
			return nil
		})
}

func nonNegative(s *sqlite.Stmt, i int) uint64 { return uint64(max(s.ColumnInt64(i), 0)) }

// op finds an operation by its name. Names that are not in the catalogue get numbers from the end
// of their source's range, which are not in use.
func (l *legacyLoader) op(source int64, name string) event.Op {
	if i, ok := event.ByName(name); ok {
		return i.Op
	}
	// A file without a dictionary has only numbers. Those of the runtime and the driver are the
	// same in every version.
	if n, err := strconv.ParseUint(strings.TrimPrefix(name, "op-"), 10, 16); err == nil {
		if op := event.Op(n); op.Info() != nil && (op.Source() == event.SourceCUDA || op.Source() == event.SourceDriver) {
			return op
		}
	}
	if l.unknown[name] == 0 {
		l.unknown[name] = event.Op(source)<<8 | event.Op(max(0xff-len(l.unknown), 0x80))
	}
	return l.unknown[name]
}

func (l *legacyLoader) readOffCPU(ctx context.Context) error {
	l.disk = map[event.Thread][]span{}
	err := l.Reader.rows(ctx,
		"select node, pid, tid, timestamp, duration from earlier_event where source = 5 order by timestamp", nil,
		func(s *sqlite.Stmt) error {
			t, from := l.thread(s, s.ColumnText(0), 1), nonNegative(s, 3)
			l.disk[t] = append(l.disk[t], span{from, from + nonNegative(s, 4)})
			return nil
		})
	if err != nil {
		return err
	}
	err = l.Reader.rows(ctx, "select node, pid, tid, timestamp, duration from earlier_events where source = 3 and op = 1",
		nil, func(s *sqlite.Stmt) error {
			o := interval{Thread: l.thread(s, s.ColumnText(0), 1), class: event.Other}
			o.to = nonNegative(s, 3)
			o.from = o.to - min(o.to, nonNegative(s, 4))
			if l.waitedForDisk(&o) {
				o.class = event.BlockIO
			}
			l.off = append(l.off, o)
			return nil
		})
	slices.SortFunc(l.off, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), compareThreads(a.Thread, b.Thread))
	})
	return err
}

// waitedForDisk reports whether a request of the thread itself was in flight during most of an
// interval and ended with it: then the thread waited for the disk.
func (l *legacyLoader) waitedForDisk(o *interval) bool {
	requests := l.disk[o.Thread]
	i := sort.Search(len(requests), func(i int) bool { return requests[i].from >= o.to }) - 1
	if i < 0 || requests[i].to > o.to {
		return false
	}
	return 2*within(requests[i], o.from, o.to) >= o.to-o.from
}

// within is the part of a span between two times.
func within(s span, from, to uint64) uint64 {
	from, to = max(from, s.from), min(to, s.to)
	return to - min(from, to)
}

// readLives reads events of processes. The first argument of a fork is unused, the second is the
// new task.
func (l *legacyLoader) readLives(ctx context.Context) error {
	kinds := map[string]event.LifeKind{
		"process_fork": event.LifeFork, "process_exec": event.LifeExec,
		"process_exit": event.LifeExit,
	}
	return l.Reader.rows(ctx, `select node, pid, tid, timestamp, op, arg1, comm from earlier_event
		where source = 3 and op in ('process_fork', 'process_exec', 'process_exit')
		order by timestamp`, nil, func(s *sqlite.Stmt) error {
		n := event.Life{
			At: nonNegative(s, 3), Kind: kinds[s.ColumnText(4)], Comm: s.ColumnText(6),
			Thread: l.thread(s, s.ColumnText(0), 1),
		}
		if n.Kind == event.LifeFork {
			child := l.id(s.ColumnText(0), s.ColumnInt64(5))
			n.Parent, n.Thread, n.Comm = n.Thread, event.Thread{PID: child, TID: child}, ""
		}
		l.lives = append(l.lives, n)
		return nil
	})
}

func (l *legacyLoader) readCounts(ctx context.Context) error {
	return l.Reader.rows(ctx,
		`select a.bucket, a.pid, a.source, coalesce(o.name, 'op-' || (a.source * 256 + a.op)), a.count, a.sum_dur,
			a.min_dur, a.max_dur, a.sum_arg0, a.node
		from earlier_event_aggregates a left join earlier_op o on o.source = a.source and o.op = a.op
		where a.source in (1, 4, 8, 9) or o.name = 'sched_switch'
		order by a.bucket, a.pid, a.source, a.op, a.node`, nil, func(s *sqlite.Stmt) error {
			c := legacyCount{
				from: nonNegative(s, 0), pid: uint32(s.ColumnInt64(1)), count: nonNegative(s, 4), sum: nonNegative(s, 5),
				min: nonNegative(s, 6), max: nonNegative(s, 7), bytes: nonNegative(s, 8),
				isSwitch: s.ColumnText(3) == "sched_switch",
			}
			if node := s.ColumnText(9); node != "" {
				c.pid = l.claim(node, c.pid)
			}
			c.op, c.call = l.op(s.ColumnInt64(2), s.ColumnText(3)), !c.isSwitch
			l.counts = append(l.counts, c)
			return nil
		})
}

func (l *legacyLoader) readBounds(ctx context.Context) error {
	return l.Reader.rows(ctx, "select min(timestamp), max(timestamp + duration) from earlier_event", nil,
		func(s *sqlite.Stmt) error {
			l.first, l.last = nonNegative(s, 0), nonNegative(s, 1)
			return nil
		})
}

// account gives calls their depth and ledger, and intervals their call.
func (l *legacyLoader) account() {
	intervals := map[event.Thread][]*interval{}
	for i := range l.off {
		o := &l.off[i]
		intervals[o.Thread] = append(intervals[o.Thread], o)
	}
	open := map[event.Thread][]*event.Call{} // calls that have not returned
	for i := range l.calls {
		c := &l.calls[i]
		stack := open[c.Thread]
		for len(stack) > 0 && stack[len(stack)-1].End() < c.End() {
			stack = stack[:len(stack)-1]
		}
		c.Depth = uint8(min(len(stack), 255))
		open[c.Thread] = append(stack, c)
		book(c, intervals[c.Thread])
	}
	for i := range l.off {
		o := &l.off[i]
		o.dispatch = open[o.Thread] != nil
	}
}

// book adds a thread's intervals, by start, to the ledger of a call.
func book(c *event.Call, intervals []*interval) {
	// A thread's intervals do not overlap: they end in the order of their start.
	i := sort.Search(len(intervals), func(i int) bool { return intervals[i].to > c.Start })
	for ; i < len(intervals) && intervals[i].from < c.End(); i++ {
		o := intervals[i]
		c.Ledger.NS[o.class] += within(o.span, c.Start, c.End())
		if o.class == event.BlockIO {
			c.Ledger.Voluntary = uint16(min(int(c.Ledger.Voluntary)+1, 0xffff))
		}
		if c.Depth == 0 && o.from >= c.Start {
			o.op = c.Op
		}
	}
}
