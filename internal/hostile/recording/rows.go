package recording

import "fmt"

// many are numbers up to n, as the table r of a statement.
func many(n int) string {
	return fmt.Sprintf("with recursive r(n) as (select 1 union all select n + 1 from r where n < %d) ", n)
}

const (
	last = "9223372036854775807"  // the largest number there is
	low  = "-9223372036854775808" // the smallest
)

// rowAttacks have the tables that a reader expects, with rows that no tracer writes.
func rowAttacks() []Attack {
	return []Attack{
		script("times at the end of time", `update session set first_ns = 1, last_ns = `+last+`, started_ns = 0,
			stopped_ns = `+last+`, flushed_ns = `+last+`; update call set dur = `+last+` where ts % 7 = 0`),
		script("times before all times", `update session set first_ns = `+low+`, last_ns = -1, started_ns = `+low+`;
			insert or ignore into call select `+low+` + rowid, thread, op, dur, ret, args, gpu, depth, stack, weight, rest from call`),
		script("one call at each end of time", `insert into call (ts, thread, op, dur) values (1, 1, 257, 5),
			(`+last+` - 1, 1, 257, `+last+`); update session set first_ns = 1, last_ns = `+last),
		script("seconds at each end of time", `insert into call_second select 1, thread, op, calls, errors, sum, max, bytes,
			1, last, runq, throttled, futex, block_io, fault, network, pipe, poll, sleep, ioctl, other, voluntary, involuntary,
			hist, nested from call_second limit 1; insert into call_second select `+last+`, thread, op, `+last+`, errors, `+
			last+`, `+last+`, bytes, 1, `+last+`, runq, throttled, futex, block_io, fault, network, pipe, poll, sleep, ioctl,
			other, voluntary, involuntary, hist, nested from call_second limit 1`),
		script("durations as long as all time", "update call set dur = "+last+"; update interval set dur = "+last+
			"; update gap set dur = "+last),
		script("durations below nothing", "update call set dur = "+low+"; update interval set dur = -1; update gap set dur = -1"),
		script("counts that overflow", `update call_second set calls = `+last+`, sum = `+last+`, bytes = `+last+`, errors = `+
			last+`; update session set calls = `+last+`, stored = `+last+`, pruned = -1`),
		script("rows that stand for billions", "update call set weight = 4294967295, rest = "+last),
		script("a machine of billions of CPUs", `update session set cpus = 9007199254740993, memory = -1;
			insert into memory_node select id, n.column1, '0-4294967295' from session, (values (0), (1), (2)) n;
			insert into scheduling (session, pid, tid, policy, nice, realtime, cpus) select distinct session, pid, tid, 0, 0, 0,
			'0-4294967295,0-4294967294' from thread`),
		script("snapshots of a million CPUs", `insert or replace into snapshot (ts, cpu_pct, mem_pct, mem_avail, swap,
			load_avg, steal_pct, cpus, session) select ts / 1000000000 * 1000000000, 1e308, -1e308, 1, 1, 1e308, 0,
			zeroblob(1000000), 1 from call group by 1`),
		script("snapshots that are no numbers", `insert or replace into snapshot (ts, cpu_pct, mem_pct, mem_avail, swap,
			load_avg, steal_pct, session) select ts / 1000000000 * 1000000000, 9e999, -9e999, 1, 1, 9e999, 9e999, 1
			from call group by 1`),
		script("histograms of all sizes", `update call_second set hist = x'0100ffffffff0f' where id % 2;
			update call_second set hist = x'01ff7f' where not id % 2`),
		script("histograms of nothing", "update call_second set hist = x''"),
		script("histograms of megabytes", "update call_second set hist = zeroblob(2000000)"),
		script("a name of 100 MB", "update thread set comm = hex(zeroblob(50000000)) where id = 1"),
		script("names of megabytes", "update thread set comm = hex(zeroblob(5000000)); update session set node = "+
			"hex(zeroblob(5000000)), flags = hex(zeroblob(5000000))"),
		script("a million threads", many(1_000_000)+"insert into thread (id, session, pid, tid, comm, dispatch) select n + 100, 1, n, n, 'evil', 1 from r"),
		script("a million threads with one id", many(1_000_000)+"insert into thread (id, session, pid, tid, comm, dispatch, "+
			"ended) select n + 100, 1, 7, 7, 'evil', 1, n from r"),
		script("a million processes", many(1_000_000)+
			"insert into process (id, session, pid, parent, name, command, traced) "+
			"select n + 1000, 1, n, n % 1000 + 1, 'evil', 'evil', 1 from r"),
		script("a million sessions", many(300_000)+`insert into session select n + 10, 'n' || n, 'h', 'k', 'amd64', 4, 1, 'v',
			'b', 1, '', n, 0, 0, 1, 2, 1, 1, 0, '' from r; insert into memory_node select id, 0, '0-3' from session`),
		script("each process is the parent of the one before", many(1000)+`insert into process
			(id, session, pid, parent, name, command, traced) select n + 1000, 1, n, n % 1000 + 1, 'p', 'p', 1 from r;
			insert or ignore into life select ts, 0, thread, 3 - thread, 0, 1 from call`),
		script("everybody waits for everybody", `update interval set class = 2, futex = 1, holder = 3 - thread,
			waker = 3 - thread, waker_futex = 1; insert or replace into culprit
			select ts, 0, 3 - thread, dur from interval`),
		script("each waited all the time", `update interval set class = 2, futex = ts, holder = thread, waker = thread,
			dur = `+last+` - ts`),
		script("a million waits at once", many(300_000)+`insert into interval (ts, thread, dur, class, waker, holder, futex)
			select (select min(ts) from call) + n, 1 + n % 2, 1000000000, 2, 2 - n % 2, 2 - n % 2, 7 from r`),
		script("stacks of what is not there", `update call set stack = 99999999; insert into stack values (5, 5, 5);
			insert into stack_entry values (5, 0, 5), (5, 4294967296, 6), (5, -1, 7)`),
		script("a stack of a million frames", many(300_000)+`insert or replace into stack_entry select 1, n, 1 from r; insert or ignore
			into stack values (1, 1, 4000); insert or ignore into frame values (1, 1, 1, hex(zeroblob(1000)), 'f', 1, 'm', 1);
			update call set stack = 1`),
		script("a million labels within each other", many(300_000)+`insert into label (ts, session, pid, start_time, since,
			until, key, value) select (select min(ts) from call) + n, 1, 4000, 0, (select min(ts) from call) + n,
			(select max(ts) from call) - n, 'k' || n % 1000, hex(n) from r`),
		script("a million kinds of loss", many(300_000)+"insert or ignore into loss select n, n, n, "+last+" from r"),
		script("operations that nobody knows", "update call set op = ts % 65536; update call_second set op = id % 65536"),
		script("numbers for operations that do not fit", "update call set op = "+last+", depth = "+low+", gpu = "+last),
		script("waits of which the text is deep", many(1000)+`insert into rank_step (ts, session, pid, steps, waits, data)
			select (select min(ts) from call) + n, 1, 4000, `+last+`, replace(hex(zeroblob(50000)), '0', '['),
			zeroblob(10000) from r`),
		script("steps without end", `insert into rank_step (ts, session, pid, rank, ranks, every, first, steps, begin, data)
			select ts, 1, 4000, `+last+`, `+last+`, `+last+`, 0, `+last+`, 1, x'ffffffffffffffffff01' from call limit 1000`),
		script("numbers to repeat a row by", many(300_000)+
			"insert or ignore into tally select n from r; update call set weight = 300000"),
	}
}
