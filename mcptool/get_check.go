package mcptool

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/doctor"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

type checkIn struct{}

type checkOut struct {
	Lost      map[string]uint64 `json:"lost"`
	Recording recordingState    `json:"recording"`
	CanTrace  bool              `json:"can_trace" jsonschema:"this machine"`
	Checks    []check           `json:"checks"`
	Processes []data            `json:"cuda_processes"`
}

// recordingState is what can be said of the recording.
type recordingState struct {
	Path     data   `json:"path"`
	OK       bool   `json:"ok"`
	Problem  data   `json:"problem,omitempty"`
	Machine  data   `json:"machine,omitempty"` // that was recorded
	Sessions int    `json:"sessions"`
	Live     bool   `json:"live" jsonschema:"recording goes on, or was cut off"`
	Window   string `json:"window,omitempty"`
	Calls    uint64 `json:"calls"`
	Stored   uint64 `json:"stored_rows"`

	uncounted bool // it does not say what was lost
}

type check struct {
	Name   string `json:"name"`
	Status status `json:"status"`
	Detail data   `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func (c checkOut) rows() int { return len(c.Checks) }

var checkTool = tool[checkIn, checkOut]{
	name:  "get_check",
	about: "Can the recording be read, what does it cover; can this machine be traced.",
	run: func(ctx context.Context, s *server, _ checkIn) (checkOut, error) {
		r := s.examined.get(s.opts.Now())
		out := checkOut{CanTrace: r.OK, Checks: []check{}, Processes: []data{}}
		out.Recording, out.Lost = s.recording(ctx)
		for _, c := range r.Checks {
			out.Checks = append(out.Checks, check{c.Name, status(c.Status), data(cut(visible(c.Detail), maxName)), c.Remedy})
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
		return out, ctx.Err()
	},
}

// recording says what there is to read. That it cannot be read is an answer, too.
func (s *server) recording(ctx context.Context) (recordingState, map[string]uint64) {
	st := recordingState{Path: name(s.src.Name())}
	var sum store.Summary
	err := s.src.Read(ctx, func(r sqlite.Recording) (err error) {
		sum, err = r.Summary(ctx)
		st.uncounted = uncounted(r)
		return err
	})
	if err != nil {
		st.Problem = prose(err.Error())
		return st, map[string]uint64{}
	}
	st.OK, st.Sessions, st.Calls, st.Stored = true, len(sum.Sessions), sum.Calls, sum.Stored
	if sum.Last != 0 {
		st.Window = clock(sum.First) + "/" + clock(sum.Last+1)
	}
	if n := len(sum.Sessions); n > 0 {
		last := &sum.Sessions[n-1]
		st.Machine = prose(machine(&sum, last))
		if st.uncounted {
			st.Machine += "; " + lossUnknown
		}
		st.Live = goesOn(&sum)
	}
	return st, event.LossCounts(sum.Losses)
}

// machine words what is known of the machine that was recorded.
func machine(sum *store.Summary, s *store.Session) string {
	var parts []string
	add := func(what, value string) {
		if value = strings.TrimSpace(value); value != "" {
			parts = append(parts, what+" "+value)
		}
	}
	add("node", sum.Node)
	add("host", s.Host)
	add("Linux", s.Kernel+" "+s.Arch)
	return strings.Join(append(parts, fmt.Sprintf("%d CPUs", s.CPUs), "recorded by Ingero "+s.Version), ", ")
}

// examined keeps what was found out about this machine for a while: finding out
// loads programs into the kernel.
type examined struct {
	mu sync.Mutex // guards what follows
	r  *doctor.Report
	at time.Time
}

// examinedFor is how long an examination is good for.
const examinedFor = 30 * time.Second

func (e *examined) get(now time.Time) *doctor.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.r == nil || now.Sub(e.at) > examinedFor {
		e.r, e.at = doctor.Examine(doctor.Options{}), now
	}
	return e.r
}

// String words the state for people and models.
func (st *recordingState) String() string {
	if !st.OK {
		return fmt.Sprintf("%s cannot be read: %s", st.Path, st.Problem)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s; %d sessions, %d calls, %s", st.Path, st.Machine, st.Sessions, st.Calls, st.Window), ", ")
}
