package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/latest"
	"github.com/ingero-io/ingero/lib/plain"
	"github.com/ingero-io/ingero/store"
)

// jsonView prints JSON lines. Each has a type: start, second, call, finding, change,
// event, oom_kill, xid or summary;
// fields are only ever added. Times are Unix nanoseconds.
type jsonView struct {
	record *agent.Recording

	lines  *outlet
	usual  latest.Map[opKey, time.Duration] // medians of the last second with such calls
	comms  latest.Map[uint32, string]
	budget int    // calls that may still be printed in this second
	left   uint64 // calls not printed for that reason
	cancel context.CancelFunc
	seen   findings
}

type jsonFinding struct {
	Type  string       `json:"type"`
	At    int64        `json:"at_ns"`
	Chain report.Chain `json:"chain"`
}

// found prints each finding once, when it appears.
func (v *jsonView) found(r *report.Report) {
	now := time.Now()
	for _, c := range v.seen.fresh(r, now) {
		v.print(jsonFinding{"finding", now.UnixNano(), c})
	}
}

// jsonChange is a time from which on steps take longer.
type jsonChange struct {
	Type   string         `json:"type"`
	At     int64          `json:"at_ns"` // when it was found
	Change *report.Change `json:"change"`
}

// changed prints a change.
func (v *jsonView) changed(c *report.Change) { v.print(jsonChange{"change", time.Now().UnixNano(), c}) }

// jsonEvent is an event of a fleet, as it is at the socket of --events.
type jsonEvent struct {
	Type  string      `json:"type"`
	At    int64       `json:"at_ns"`
	Event *wire.Event `json:"event"`
}

// event prints an event of a fleet.
func (v *jsonView) event(e *wire.Event, _ string) { v.print(jsonEvent{"event", e.At.UnixNano(), e}) }

// jsonOOM is a process that the kernel killed for lack of memory.
type jsonOOM struct {
	Type    string `json:"type"`
	At      uint64 `json:"at_ns"`
	PID     uint32 `json:"pid"`
	Process string `json:"process"`
	Trigger uint32 `json:"trigger_pid"` // the process that needed memory
}

// jsonXid is an error of a GPU that its driver reported.
type jsonXid struct {
	Type        string `json:"type"`
	At          uint64 `json:"at_ns"`
	GPU         *int   `json:"gpu"` // NVML's index, null if not known
	Xid         uint32 `json:"xid"`
	Description string `json:"description"`
}

type opKey struct {
	pid uint32
	op  event.Op
}

// maxCallLines bounds the calls printed in a second; the rest are counted.
const maxCallLines = 1000

// minMedian is the minimum number of calls in a median, to call one slow.
const minMedian = 10

func newJSONView(out io.Writer, r *agent.Recording) *jsonView {
	v := &jsonView{
		record: r, usual: latest.New[opKey, time.Duration](keptNames), comms: latest.New[uint32, string](keptNames),
		budget: maxCallLines, cancel: func() {},
	}
	v.lines = newOutlet(out, func() { v.cancel() }) // nobody reads the output after a failure
	return v
}

func (v *jsonView) run(ctx context.Context, o agent.Options) (agent.Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if len(o.Command) == 0 { // which goes on without a reader of this output
		v.cancel = cancel
	}
	o.Started = v.started
	o.Sinks = append(o.Sinks, v)
	return agent.Run(ctx, o)
}

// print writes a line, however long its reader pauses.
func (v *jsonView) print(line any) { v.encode(line, true) }

// offer writes a line that is dropped if too many are waiting.
func (v *jsonView) offer(line any) { v.encode(line, false) }

func (v *jsonView) encode(line any, must bool) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(line) // all lines are structs of this file, which can be encoded
	v.lines.print(plain.JSON(b.Bytes()), must)
}

type jsonProcess struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm"`
}

func jsonProcesses(ps []agent.Traced) []jsonProcess {
	r := make([]jsonProcess, 0, len(ps))
	for _, p := range ps {
		r = append(r, jsonProcess{p.PID, p.Comm})
	}
	return r
}

type jsonStart struct {
	Type      string        `json:"type"`
	Schema    int           `json:"schema"`
	At        int64         `json:"at_ns"`
	Version   string        `json:"version"`
	Node      string        `json:"node,omitempty"`
	DB        string        `json:"db,omitempty"`
	Backend   string        `json:"backend"`
	Took      int64         `json:"took_ns"`
	Libraries []string      `json:"libraries"`
	Processes []jsonProcess `json:"processes"`
	Footprint []jsonProcess `json:"footprint"` // processes whose system calls are counted
}

func (v *jsonView) started(s agent.Start) {
	l := jsonStart{
		Type: "start", Schema: 1, At: time.Now().UnixNano(), Version: build().Version, Backend: string(s.Backend),
		Took: int64(s.Took), Libraries: append([]string{}, s.Libraries...), Processes: jsonProcesses(s.Processes),
		Footprint: jsonProcesses(s.Footprint),
	}
	if v.record != nil {
		l.Node, l.DB = v.record.Node, v.record.Path
	}
	v.print(l)
}

type jsonSecond struct {
	Type          string            `json:"type"`
	At            int64             `json:"at_ns"`
	Elapsed       int64             `json:"elapsed_ns"`
	Calls         uint64            `json:"calls"`
	CallsPerS     float64           `json:"calls_per_s"`
	Syscalls      uint64            `json:"syscalls"`      // counted since the start, if they are counted
	CallsNotShown uint64            `json:"calls_untold"`  // slow or failed calls beyond the limit of a second
	Dropped       uint64            `json:"lines_dropped"` // call and second lines, since the start: too many were waiting
	Ops           []jsonOp          `json:"ops"`
	InFlight      []jsonFlight      `json:"in_flight"` // calls that had not returned after a second
	Processes     []jsonProcess     `json:"processes"`
	Lost          map[string]uint64 `json:"lost"`
	RingFill      float64           `json:"ring_fill"`
	CPU           float64           `json:"tracer_cpu"`        // with the process that reads GPUs
	GPUReader     int64             `json:"gpu_reader_cpu_ns"` // CPU time of that process, since the start
	RSS           uint64            `json:"tracer_rss_bytes"`
	DBBytes       int64             `json:"db_bytes"`
	NotRecorded   *jsonUnwritten    `json:"not_recorded,omitempty"` // while the recording cannot be written
}

// jsonUnwritten says since when the recording cannot be written, and why.
type jsonUnwritten struct {
	Since int64  `json:"since_ns"`
	Why   string `json:"why"`
}

type jsonFlight struct {
	PID       uint32            `json:"pid"`
	TID       uint32            `json:"tid"`
	Thread    string            `json:"thread"`
	Op        string            `json:"op"`
	Inner     string            `json:"inner_op,omitempty"`
	Since     uint64            `json:"since_ns"` // Unix ns, start
	Age       uint64            `json:"age_ns"`
	Doing     string            `json:"doing"` // running, runnable, blocked
	WaitsFor  string            `json:"waits_for,omitempty"`
	Holder    uint32            `json:"holder_tid,omitempty"`
	File      string            `json:"file,omitempty"`
	Words     string            `json:"words"`
	Args      map[string]uint64 `json:"args"`
	OnCPU     uint64            `json:"on_cpu_ns"`
	OffCPU    map[string]uint64 `json:"off_cpu_ns"`
	StackHash uint64            `json:"stack_hash,omitempty"`
	Where     string            `json:"where,omitempty"` // in the program's own code
}

func jsonFlights(s *agent.Status) []jsonFlight {
	r := make([]jsonFlight, 0, len(s.InFlight))
	for i := range s.InFlight {
		f := &s.InFlight[i]
		j := jsonFlight{
			PID: f.PID, TID: f.TID, Thread: f.Comm, Op: f.Op.String(), Since: f.Start, Age: f.Age(), Doing: f.Doing.String(),
			Holder: f.Holder.TID, File: f.File, Words: f.Waits(), OnCPU: f.OnCPU, StackHash: f.Stack,
			Args: namedArgs(&event.Call{Op: f.Op, Args: f.Args}), OffCPU: ledgerMap(&event.Ledger{NS: f.NS}),
		}
		if f.Inner != 0 {
			j.Inner = f.Inner.String()
		}
		if f.Doing == event.Blocked {
			j.WaitsFor = f.Class.String()
		}
		j.Where = s.Whereabouts(i)
		r = append(r, j)
	}
	return r
}

type jsonOp struct {
	PID       uint32  `json:"pid"`
	Process   string  `json:"process"`
	Op        string  `json:"op"`
	Calls     uint64  `json:"calls"`
	CallsPerS float64 `json:"calls_per_s"`
	Errors    uint64  `json:"errors"`
	P50       int64   `json:"p50_ns"`
	P99       int64   `json:"p99_ns"`
	Max       int64   `json:"max_ns"`
}

// Second implements agent.Sink.
func (v *jsonView) Second(s *agent.Status) {
	l := jsonSecond{
		Type: "second", At: s.At.UnixNano(), Elapsed: int64(s.Elapsed), Calls: s.Calls, CallsPerS: s.PerSecond,
		Syscalls: s.Syscalls, CallsNotShown: v.left, Dropped: v.lines.lost(), Ops: make([]jsonOp, 0, len(s.Ops)),
		Processes: jsonProcesses(s.Processes),
		InFlight:  jsonFlights(s), Lost: lostByKind(s.Losses), RingFill: s.Fill, CPU: s.CPU, RSS: s.RSS, DBBytes: s.DBBytes,
		GPUReader: int64(s.GPUReader),
	}
	for _, o := range s.Ops {
		l.Ops = append(l.Ops, jsonOp{
			o.PID, o.Comm, o.Op.String(), o.Calls, o.PerSecond, o.Errors, int64(o.P50), int64(o.P99), int64(o.Max),
		})
		v.comms.Put(o.PID, o.Comm)
		if o.Calls >= minMedian {
			v.usual.Put(opKey{o.PID, o.Op}, o.P50)
		}
	}
	if u := s.Unwritten; u != nil {
		l.NotRecorded = &jsonUnwritten{u.Since.UnixNano(), u.Why}
	}
	v.budget, v.left = maxCallLines, 0
	v.offer(l)
}

func lostByKind(losses []event.Loss) map[string]uint64 {
	m := map[string]uint64{}
	for _, l := range losses {
		m[l.Kind.String()] += l.Count
	}
	return m
}

type jsonCall struct {
	Type     string            `json:"type"`
	At       uint64            `json:"at_ns"`
	Duration uint64            `json:"duration_ns"`
	PID      uint32            `json:"pid"`
	TID      uint32            `json:"tid"`
	Process  string            `json:"process,omitempty"`
	Op       string            `json:"op"`
	Ret      int32             `json:"ret_code"`
	Slow     bool              `json:"slow"`
	Failed   bool              `json:"failed"`
	Args     map[string]uint64 `json:"args"`
	OffCPU   map[string]uint64 `json:"off_cpu_ns"` // by class
}

// keptNames is how many processes and operations are known at least: those that were used last.
const keptNames = 4096

func (v *jsonView) name(pid uint32) string {
	name, _ := v.comms.Get(pid)
	return name
}

// Batch implements agent.Sink.
func (v *jsonView) Batch(b *store.Batch) {
	for i := range b.Processes {
		v.comms.Put(b.Processes[i].PID, b.Processes[i].Name)
	}
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeOOM {
			v.print(jsonOOM{"oom_kill", l.At, l.PID, cmp.Or(l.Comm, v.name(l.PID)), l.Parent.PID})
		}
	}
	for i := range b.Xids {
		x := &b.Xids[i]
		line := jsonXid{Type: "xid", At: x.At, Xid: x.Code, Description: x.String()}
		if x.GPU >= 0 {
			line.GPU = &x.GPU
		}
		v.print(line)
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		median, known := v.usual.Get(opKey{c.PID, c.Op})
		slow := known && store.IsSlow(c.Duration, uint64(median))
		failed := c.Failed()
		if !slow && !failed {
			continue
		}
		if v.budget == 0 {
			v.left++
			continue
		}
		v.budget--
		v.offer(jsonCall{
			Type: "call", At: c.Start, Duration: c.Duration, PID: c.PID, TID: c.TID, Process: v.name(c.PID),
			Op: c.Op.String(), Ret: c.Ret, Slow: slow, Failed: failed, Args: namedArgs(c), OffCPU: ledgerMap(&c.Ledger),
		})
	}
}

func namedArgs(c *event.Call) map[string]uint64 {
	m := map[string]uint64{}
	if info := c.Op.Info(); info != nil {
		for i, a := range info.Args {
			m[a.Name] = c.Args[i]
		}
	}
	return m
}

func ledgerMap(l *event.Ledger) map[string]uint64 {
	m := map[string]uint64{}
	for i, ns := range l.NS {
		if ns > 0 {
			m[event.Class(i).String()] = ns
		}
	}
	return m
}

type jsonSummary struct {
	Type       string            `json:"type"`
	Elapsed    int64             `json:"elapsed_ns"`
	Calls      uint64            `json:"calls"`
	Processes  []jsonProcess     `json:"processes"`
	Libraries  []string          `json:"libraries"`
	Lost       map[string]uint64 `json:"lost"`
	CPU        int64             `json:"tracer_cpu_ns"`     // with the process that reads GPUs
	GPUReader  int64             `json:"gpu_reader_cpu_ns"` // of that process alone
	MaxRSS     uint64            `json:"tracer_max_rss_bytes"`
	FirstEvent int64             `json:"first_event_ns"`
	DB         string            `json:"db,omitempty"`
	DBBytes    int64             `json:"db_bytes"`
	ExitCode   int               `json:"exit_code"`
	Next       string            `json:"next,omitempty"`
	Footprint  *report.Footprint `json:"footprint,omitempty"`
	Dropped    uint64            `json:"lines_dropped"`
}

func (v *jsonView) summary(s *agent.Summary, next string) error {
	v.print(jsonSummary{
		Type: "summary", Elapsed: int64(s.Elapsed), Calls: s.Calls, Processes: jsonProcesses(s.Processes),
		Libraries: append([]string{}, s.Libraries...), Lost: lostByKind(s.Losses), CPU: int64(s.CPU), MaxRSS: s.MaxRSS,
		FirstEvent: int64(s.FirstEvent), DB: s.Path, DBBytes: s.DBBytes, ExitCode: s.ExitCode, Next: next,
		Footprint: s.Footprint, GPUReader: int64(s.GPUReader),
		Dropped: v.lines.lost(),
	})
	return v.lines.close()
}
