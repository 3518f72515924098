package diagnose

import (
	"cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// evidence is a recording of one machine, prepared for the causes (prepare.go). After that it does
// not change, except for what is computed on first use and what is found. The data read from the
// recording is in parts (parts.go), each with the queries that it answers by itself.
type evidence struct {
	in *Input

	procs processes
	calls callStats
	host  hostState
	gpus  gpuReadings
	queue gpuQueue
	heaps allocations
	ranks rankWork

	from, to uint64  // the window, Unix ns
	missing  float64 // share of the records that were dropped

	subjects      []*subject // dispatching threads, by id
	joins         joins
	early         map[event.Thread]earlyWaits // waits that come earlier than before, by the waiting thread
	graphs        []*graphUse                 // of processes that use CUDA graphs
	inFlightCalls []inFlightCall              // calls that had not returned, the oldest first

	// Computed on first use.
	launched map[uint32]map[uint64]uint64                // launches of processes by second: launchesOf
	planned  map[*finding]*plan                          // see plans
	changed  map[*subject][]report.Change                // see changesOf
	waits    map[event.Thread]map[changeKey]event.Ledger // see waitedBySecond

	// What was found (find).
	all  []*finding
	list []*finding // the same, merged: each root once
}

// callStart identifies a call by its thread and start, Unix ns.
type callStart struct {
	event.Thread
	start uint64
}

type processOp struct {
	pid uint32
	op  event.Op
}

type threadOp struct {
	event.Thread
	op event.Op
}

type gapTotals struct {
	gaps   uint64
	sumNS  uint64
	ledger event.Ledger
}

// name returns a process's name, or else the given task name, or its PID.
func (ps *processes) name(pid uint32, comm string) string {
	t, main, _ := ps.x.Thread(pid)
	if t.PID != pid { // a thread of another process has the number
		main = ""
	}
	return printable(cmp.Or(ps.names[pid], main, comm, "pid "+itoa(pid)))
}

// comm returns a thread's own name, empty if unknown.
func (ps *processes) comm(t event.Thread) string {
	_, c, _ := ps.x.Thread(t.TID)
	return printable(c)
}

// missing estimates the share of the window's records that were dropped, from the kinds of loss that leave
// holes.
func missing(in *Input) float64 {
	var lost uint64
	for _, l := range in.Dropped {
		if l.Kind.Counts() {
			lost += l.Count
		}
	}
	if lost == 0 {
		return 0
	}
	return float64(lost) / (float64(lost) + float64(events(in)))
}

// outermostCalls returns the number of outermost calls in the window.
func (cs *callStats) outermostCalls() (n uint64) {
	if cs.in.Events != 0 {
		return cs.in.Events
	}
	for _, o := range cs.nested.OfAll(cs.in.Ops) {
		n += o.Calls
	}
	return n
}

// events returns the number of calls in the window, with those within other calls.
func events(in *Input) uint64 {
	if in.Events != 0 {
		return in.Events
	}
	var n uint64
	for i := range in.Ops {
		n += in.Ops[i].Calls
	}
	return n
}
