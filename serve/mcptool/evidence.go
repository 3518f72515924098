package mcptool

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// leakQuery selects the places whose live allocations grow, with the innermost function.
func leakQuery(c *report.Chain) string {
	return fmt.Sprintf("select c.op, c.live_bytes, c.live_count, c.grown_bytes, c.grown_count, f.symbol, f.file, f.line "+
		"from leak_candidates c left join stack_frames f on f.stack_hash = c.stack_hash and f.depth = 0 "+
		"where c.pid = %d order by c.grown_bytes desc limit 10", c.Effect.PID)
}

// cpusQuery selects the CPUs that the threads of a process ran on.
func cpusQuery(c *report.Chain) string {
	return fmt.Sprintf("select tid, comm, cpu, waits_recorded, allowed_cpus from thread_cpus where pid = %d "+
		"order by waits_recorded desc limit 20", c.Effect.PID)
}

// evidenceQuery selects the rows a finding rests on, in at most 8 columns: the first call
// or gap, then what its thread and the culprit waited for meanwhile, with who ran, who held
// the lock and who woke.
func evidenceQuery(c *report.Chain) string {
	if len(c.Evidence.EventIDs) == 0 {
		return ""
	}
	id := c.Evidence.EventIDs[0]
	from := id[strings.LastIndexByte(id, ':')+1:]
	at := strings.TrimRight(from, "abcdefghijklmnopqrstuvwxyz")
	if len(at) < len("1700000000000000000") { // an earlier Ingero counted its events
		return "select timestamp, op, duration_ns, pid, tid, ret_code from events where id = '" +
			strings.ReplaceAll(id, "'", "''") + "'"
	}
	switch store.EventKind(from[len(at):]) {
	case store.CallEvent:
		return meanwhile(c, at, "calls", "op")
	case store.GapEvent:
		return meanwhile(c, at, "ledger", "'gap before ' || op")
	case store.OffCPUEvent:
		return waitsDuring(c, at, "off_cpu") + " order by timestamp limit 20"
	case store.CollectiveEvent:
		return "select c.rank, c.comm, c.tid, c.op, c.queued, c.barrier_wait_ns " +
			"from collectives c join collectives e using (comm_id, seq) where e.timestamp = " + at +
			" order by c.queued desc limit 20"
	}
	return "select timestamp, op, duration_ns, comm, pid, tid from calls where timestamp = " + at
}

// waitColumns are those of a wait: whose, for what, how long, and because of whom.
const waitColumns = "select timestamp, comm, class, duration_ns, culprit_comm, culprit_tid, holder_tid, waker_comm"

// meanwhile selects a row of a view, called what, and the waits until its end.
func meanwhile(c *report.Chain, at, view, what string) string {
	return fmt.Sprintf("select timestamp, comm, %s as what, duration_ns, "+
		"null as culprit_comm, null as culprit_tid, null as holder_tid, null as waker_comm "+
		"from %s where timestamp = %s union all %s order by 1 limit 20", what, view, at, waitsDuring(c, at, view))
}

// waitsDuring selects the waits of the victim and the culprit that overlap a row of a
// view. Waits that began over a second before it are not included.
func waitsDuring(c *report.Chain, at, view string) string {
	who := fmt.Sprint(c.Effect.TID)
	if c.Cause.TID != 0 && c.Cause.TID != c.Effect.TID {
		who += fmt.Sprintf(", %d", c.Cause.TID)
	}
	return fmt.Sprintf("%[3]s from off_cpu where tid in (%[4]s) and timestamp + duration_ns > %[1]s and "+
		"timestamp between %[1]s - 1000000000 and (select max(timestamp + duration_ns) from %[2]s where timestamp = %[1]s)",
		at, view, waitColumns, who)
}
