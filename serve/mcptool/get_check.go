package mcptool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/mcpshape"
	"github.com/ingero-io/ingero/store"
)

type checkIn struct {
	Machine bool `json:"machine,omitempty" jsonschema:"check this machine, too; default false"`
}

// checkOut is what a reader must know before trusting a recording's numbers: what is in
// it, what is not, and which rows stand for several.
type checkOut struct {
	Dropped   dropped        `json:"dropped"` // words of ours
	Recording recordingState `json:"recording"`
	Traced    data           `json:"traced,omitempty"`
	Sampled   string         `json:"sampled,omitempty"`
	Machine   *machineState  `json:"this_machine,omitempty"`
}

// recordingState is the state of the recording.
type recordingState struct {
	Path     data   `json:"path,omitempty"` // if it cannot be read
	OK       bool   `json:"ok"`
	Problem  data   `json:"problem,omitempty"`
	Machine  data   `json:"machine,omitempty"`  // that was recorded
	Sessions int    `json:"sessions,omitempty"` // if several
	State    string `json:"state,omitempty"`    // being written, or cut off; empty: complete
	Window   string `json:"window,omitempty"`
	Calls    uint64 `json:"calls"`

	name      data
	stored    uint64   // calls that have a row
	all       uint64   // calls, including nested ones
	uncounted bool     // it does not say what was dropped
	traced    []string // processes that were
}

// machineState is whether the machine that the server runs on, which need not be the
// recorded one, can be traced.
type machineState struct {
	CanTrace  bool    `json:"can_trace"`
	Checks    []check `json:"checks"`
	Processes []data  `json:"cuda_processes"`
}

type check struct {
	Name   string `json:"name"`
	Status status `json:"status"`
	Detail data   `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func (c checkOut) rows() int {
	if c.Machine == nil {
		return 1
	}
	return len(c.Machine.Checks)
}

var checkTool = tool[checkIn, checkOut]{
	name:  "get_check",
	about: "What the recording covers: who was traced, what is missing, what is a sample.",
	run: func(ctx context.Context, s *server, in checkIn) (checkOut, error) {
		st, lost := s.recording(ctx)
		out := checkOut{Recording: st, Dropped: droppedOf(lost)}
		if st.OK {
			out.Traced, out.Sampled = st.whoWasTraced(), st.whatIsSampled()
		}
		if in.Machine {
			out.Machine = s.machine()
		}
		return out, ctx.Err()
	},
}

// whoWasTraced names the first of the processes.
func (st *recordingState) whoWasTraced() data {
	const shown, long = 2, 24
	list := []string{}
	for _, n := range first(st.traced, shown) {
		list = append(list, string(name(mcpshape.Cut(mcpshape.Visible(n), long))))
	}
	if n := len(st.traced) - shown; n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	return data(strings.TrimSuffix(report.Plural(uint64(len(st.traced)), "process")+": "+strings.Join(list, ", "), ": "))
}

// whatIsSampled says which numbers are of all calls, and which are not.
func (st *recordingState) whatIsSampled() string {
	if st.stored >= st.all {
		return "nothing: all calls are stored"
	}
	return report.Count(st.stored) + " calls are stored one by one, others counted"
}

// machine examines this machine.
func (s *server) machine() *machineState {
	r := s.examined.get(s.opts.Now())
	out := &machineState{CanTrace: r.OK, Checks: []check{}, Processes: []data{}}
	for _, c := range r.Checks {
		detail := data(mcpshape.Cut(mcpshape.Visible(c.Detail), maxName))
		out.Checks = append(out.Checks, check{c.Name, status(c.Status), detail, c.Remedy})
	}
	for _, p := range r.Processes[:min(len(r.Processes), maxOthers)] {
		line := fmt.Sprintf("%s (pid %d)", name(p.Comm), p.PID)
		if len(p.NotSeen) > 0 {
			line += ", not seen: " + strings.Join(p.NotSeen, "; ")
		}
		out.Processes = append(out.Processes, prose(line))
	}
	if n := len(r.Processes) - maxOthers; n > 0 {
		out.Processes = append(out.Processes, data(fmt.Sprintf("%d more; ingero check --coverage lists all", n)))
	}
	return out
}

// recording describes the recording. That it cannot be read is a valid answer.
func (s *server) recording(ctx context.Context) (recordingState, map[string]uint64) {
	st := recordingState{name: name(filepath.Base(s.src.Name()))}
	st.Path = st.name
	var sum recording.Summary
	err := s.src.Read(ctx, func(r store.Recording) (err error) {
		if sum, err = recording.Summarize(ctx, r, s.opts.Now()); err != nil {
			return err
		}
		st.traced, err = recording.Traced(ctx, r)
		return err
	})
	if err != nil {
		st.Problem = prose(err.Error())
		return st, map[string]uint64{}
	}
	st.OK, st.Path, st.stored, st.all = true, "", sum.Stored, sum.Calls
	st.Calls, st.uncounted, st.State = sum.Outermost, sum.Uncounted, stateWords[sum.State]
	if n := len(sum.Sessions); n > 1 {
		st.Sessions = n
	}
	if sum.Last != 0 {
		st.Window = clock(sum.First) + "/" + clock(sum.Last+1)
	}
	if n := len(sum.Sessions); n > 0 {
		last := &sum.Sessions[n-1]
		st.Machine = prose(recordedOn(&sum.Summary, last))
		if st.uncounted {
			st.Machine += "; " + lossUnknown
		}
	}
	return st, event.LossCounts(sum.Losses)
}

// stateWords describe the state of a recording that is not complete.
var stateWords = map[recording.State]string{
	recording.Live: "being written", recording.CutOff: "cut off: the tracer did not stop by itself",
}

// recordedOn describes the recorded machine, as far as it is known.
func recordedOn(sum *store.Summary, s *store.Session) string {
	var parts []string
	add := func(what, value string) {
		if value = strings.TrimSpace(value); value != "" {
			parts = append(parts, what+" "+value)
		}
	}
	add("node", sum.Node)
	if s.Host != sum.Node {
		add("host", s.Host)
	}
	add("Linux", s.Kernel+" "+s.Arch)
	return strings.Join(append(parts, fmt.Sprintf("%d CPUs", s.CPUs), "Ingero "+s.Version), ", ")
}

// examined caches the examination of this machine for a while, because an examination
// loads programs into the kernel.
type examined struct {
	mu sync.Mutex // guards what follows
	r  *doctor.Report
	at time.Time
}

// examinedFor is how long an examination is valid.
const examinedFor = 30 * time.Second

func (e *examined) get(now time.Time) *doctor.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.r == nil || now.Sub(e.at) > examinedFor {
		e.r, e.at = doctor.Examine(doctor.Options{}), now
	}
	return e.r
}

// String describes the state for people and models.
func (st *recordingState) String() string {
	if !st.OK {
		return fmt.Sprintf("%s cannot be read: %s", st.name, st.Problem)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s; %s, %d calls, %s",
		st.name, st.Machine, report.Plural(uint64(max(st.Sessions, 1)), "session"), st.Calls, st.Window), ", ")
}
