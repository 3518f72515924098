package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/lib/plain"
)

// The published types of straggler events. Other verdicts have the names of their kinds.
const (
	EventStraggler = "straggler_state"
	EventResolved  = "straggler_resolved"
)

// signalOwnWork is the signal that stragglers are found by.
const signalOwnWork = "own_work"

// maxEvidence is how many recordings an event names.
const maxEvidence = 16

// Event is a line of the event stream: a condition of a rank or cohort began or ended. Readers ignore fields that
// they do not know. Events of earlier agents have only the first two groups.
type Event struct {
	Type    string    `json:"type"`
	Node    string    `json:"node_id,omitempty"` // empty: the whole cohort
	Cluster string    `json:"cluster_id"`
	At      time.Time `json:"timestamp"`
	// ID is a UUID, the same from beginning to end.
	ID        string `json:"event_id,omitempty"`
	Rank      *int32 `json:"rank,omitempty"`
	WorldSize int32  `json:"world_size,omitempty"`
	PID       uint32 `json:"pid,omitempty"` // the rank's process on its host; 0: not known

	Score     *float64 `json:"score,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	Mode      string   `json:"detection_mode,omitempty"`
	Signal    string   `json:"dominant_signal,omitempty"`

	// Resolved: the condition ended. A straggler's type says so too.
	Resolved bool       `json:"resolved,omitempty"`
	Folded   bool       `json:"folded,omitempty"` // see health.Verdict
	Since    *time.Time `json:"since,omitempty"`
	Cohort   string     `json:"cohort,omitempty"` // 16 hexadecimal digits
	Ranks    int        `json:"ranks,omitempty"`  // compared, or affected
	// Excess is own work beyond what it is compared with, as a share. OwnMS and PeerMS are the two values, LostMS their
	// difference, in milliseconds per step.
	Excess   *float64 `json:"excess,omitempty"`
	OwnMS    *float64 `json:"own_ms,omitempty"`
	PeerMS   *float64 `json:"peer_ms,omitempty"`
	LostMS   *float64 `json:"lost_ms_per_step,omitempty"`
	StepMS   *float64 `json:"step_ms,omitempty"` // usual length of a step
	Sigma    *float64 `json:"sigma,omitempty"`
	G        *float64 `json:"g,omitempty"`
	H        *float64 `json:"h,omitempty"`
	Measured string   `json:"measured,omitempty"` // "device" or "host"
	Cause    *Cause   `json:"cause,omitempty"`
}

// Cause is why a rank is slow.
type Cause struct {
	Kind    string `json:"kind"`
	Culprit string `json:"culprit,omitempty"` // a process, file, device and so on
	// MS is its cost in milliseconds per step, Explained its share of the lost time.
	MS        float64  `json:"ms_per_step,omitempty"`
	Explained float64  `json:"explained,omitempty"`
	Second    string   `json:"second,omitempty"` // kind of the next cause
	Evidence  []string `json:"evidence_ids,omitempty"`
}

// About says whom a verdict is about.
type About struct {
	Node, Cluster string
	ID            string // see Event.ID
	WorldSize     int32
	PID           uint32        // see Event.PID
	Step          time.Duration // usual length of a step, 0: not known
}

// NewEvent returns the event of a verdict, with its cause if it is known. The verdict's times are since the Unix
// epoch.
func NewEvent(v health.Verdict, a About, cause *Cause) Event {
	e := Event{
		Type: v.Kind.String(), Node: a.Node, Cluster: a.Cluster, At: moment(v.At), ID: a.ID, WorldSize: a.WorldSize,
		Mode: v.Mode.String(), Resolved: v.Resolved, Folded: v.Folded, Cohort: fmt.Sprintf("%016x", v.Cohort),
		Ranks: v.N, Measured: v.Measured.String(), Cause: cause,
	}
	if v.Since > 0 {
		since := moment(v.Since)
		e.Since = &since
	}
	if a.Step > 0 {
		e.StepMS = milli(a.Step.Seconds())
	}
	if v.Rank != health.NoRank {
		e.Rank, e.PID = &v.Rank, a.PID
	}
	switch v.Kind {
	case health.KindStraggler:
		e.Type, e.Signal = EventStraggler, signalOwnWork
		if v.Resolved {
			e.Type = EventResolved
		}
		e.Score, e.Threshold = known01(1/(1+v.Excess)), number(health.SlowScore())
		e.statistics(v)
	case health.KindSlowVsSelf:
		e.statistics(v)
	case health.KindCohortSlow:
		e.Excess = number(v.Excess)
	}
	return e
}

func (e *Event) statistics(v health.Verdict) {
	e.Excess, e.OwnMS, e.PeerMS, e.LostMS = number(v.Excess), milli(v.Own), milli(v.Peer), milli(max(0, v.Own-v.Peer))
	e.Sigma, e.G, e.H = number(v.Sigma), number(v.G), number(v.H)
}

func moment(d time.Duration) time.Time { return time.Unix(0, int64(d)).UTC() }

// number returns v, nil if it is not finite.
func number(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// milli converts seconds to milliseconds, rounded to the nanosecond; nil if they are not finite.
func milli(seconds float64) *float64 { return number(math.Round(seconds*1e9) / 1e6) }

// known01 returns v, at most 1; nil if it is not known.
func known01(v float64) *float64 {
	if !(v >= 0) {
		return nil
	}
	return number(math.Min(1, v))
}

// AppendEvent appends an event to b as a line of JSON. It cuts texts that are too long.
func AppendEvent(b []byte, e *Event) ([]byte, error) {
	if err := e.check(); err != nil {
		return b, err
	}
	c := *e
	c.Cause = e.Cause.clipped()
	line := bytes.NewBuffer(b)
	j := json.NewEncoder(line) // adds the newline
	j.SetEscapeHTML(false)
	if err := j.Encode(&c); err != nil {
		return b, wrong(Value, "", "%v", err)
	}
	return line.Bytes(), nil
}

// clipped returns the cause with texts that are printable and not too long, nil if there is none.
func (c *Cause) clipped() *Cause {
	if c == nil {
		return nil
	}
	d := Cause{Kind: clip(c.Kind), Culprit: clip(c.Culprit), Second: clip(c.Second)}
	if finite(c.MS) && finite(c.Explained) {
		d.MS, d.Explained = c.MS, c.Explained
	}
	for _, id := range c.Evidence[:min(len(c.Evidence), maxEvidence)] {
		d.Evidence = append(d.Evidence, clip(id))
	}
	return &d
}

// clip makes a text printable and cuts it to the length of a name.
func clip(s string) string { return printable(s, maxName) }

// printable makes a text printable and cuts it to most bytes.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if plain.Odd(r) {
			return '?'
		}
		return r
	}, s[:min(len(s), most+utf8.UTFMax)])
	if len(s) <= most {
		return s
	}
	end := 0
	for i := range s {
		if i > most {
			break
		}
		end = i
	}
	return s[:end]
}

// ParseEvent parses a line of the event stream, also of earlier agents and of unknown types. It ignores unknown
// fields.
func ParseEvent(line []byte) (Event, error) {
	var e Event
	if len(line) > MaxEvent {
		return e, wrong(Limit, "", "the line has %d bytes; %d at most", len(line), MaxEvent)
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
		return Event{}, wrong(Malformed, "", "the line is not an event: %v", err)
	}
	if err := e.check(); err != nil {
		return Event{}, err
	}
	e.Cause = e.Cause.clipped()
	return e, nil
}

func (e *Event) check() error {
	if e.Type == "" {
		return wrong(Value, "type", "is missing")
	}
	if e.Node == "" && (e.Type == EventStraggler || e.Type == EventResolved) {
		return wrong(Value, "node_id", "is missing")
	}
	names := [...][2]string{
		{"type", e.Type},
		{"node_id", e.Node},
		{"cluster_id", e.Cluster},
		{"event_id", e.ID},
		{"detection_mode", e.Mode},
		{"dominant_signal", e.Signal},
		{"cohort", e.Cohort},
		{"measured", e.Measured},
	}
	for _, n := range names {
		if err := checkName(n[0], n[1]); err != nil {
			return err
		}
	}
	if e.At.IsZero() {
		return wrong(Value, "timestamp", "is missing")
	}
	numbers := [...]*float64{e.Score, e.Threshold, e.Excess, e.OwnMS, e.PeerMS, e.LostMS, e.StepMS, e.Sigma, e.G, e.H}
	for i, v := range numbers {
		if v != nil && !finite(*v) {
			return wrong(Value, [...]string{
				"score", "threshold", "excess", "own_ms", "peer_ms", "lost_ms_per_step", "step_ms", "sigma", "g", "h",
			}[i], "is not finite")
		}
	}
	if e.Rank != nil && (*e.Rank < 0 || *e.Rank >= maxWorld) {
		return wrong(Value, "rank", "is %d; from 0 to %d", *e.Rank, maxWorld-1)
	}
	if e.WorldSize < 0 || e.WorldSize > maxWorld {
		return wrong(Value, "world_size", "is %d; from 0 to %d", e.WorldSize, maxWorld)
	}
	if e.Rank != nil && e.WorldSize > 0 && *e.Rank >= e.WorldSize {
		return wrong(Value, "rank", "is %d of a world of %d", *e.Rank, e.WorldSize)
	}
	return nil
}
