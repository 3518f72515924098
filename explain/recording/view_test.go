package recording_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// withProcesses is a recording with steady calls and some processes.
type withProcesses struct {
	store.Recording
	steadyCalls
}

func (p withProcesses) Summary(ctx context.Context) (store.Summary, error) {
	return p.steadyCalls.Summary(ctx)
}

func (p withProcesses) CallsIn(ctx context.Context, w store.Window) (uint64, error) {
	return p.steadyCalls.CallsIn(ctx, w)
}

func (withProcesses) Tables(_ context.Context, _ store.Window, lists ...any) error {
	*lists[0].(*[]store.Process) = []store.Process{
		{PID: 12, Name: "python3", Traced: true}, {PID: 7, Name: "Python3", Traced: true}, {PID: 30, Name: "cron"},
	}
	return nil
}

// minute returns a recording of a minute from the 500th millisecond of a second on, complete for an hour.
func minute(now time.Time) withProcesses {
	first := uint64(now.Add(-time.Hour).UnixNano()) + 500e6
	last := first + uint64(time.Minute)
	s := store.Session{Started: first, Flushed: last, Stopped: last}
	return withProcesses{steadyCalls: steadyCalls{store.Summary{Sessions: []store.Session{s}, First: first, Last: last}}}
}

func TestScopesSelectProcesses(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	quoted := func(s string) string { return "«" + s + "»" }
	for _, c := range []struct {
		scope recording.Scope
		want  []uint32
		err   string
		named []uint32
	}{
		{recording.Scope{}, nil, "", nil},
		{recording.Scope{PIDs: []int64{30}}, []uint32{30}, "", nil},
		{recording.Scope{Process: "PYTHON3"}, []uint32{7, 12}, "", nil},
		{recording.Scope{Process: "«cron»", Shown: quoted}, []uint32{30}, "", nil},
		{recording.Scope{PIDs: []int64{12}, Process: "python3"}, []uint32{12}, "", nil},
		{recording.Scope{PIDs: []int64{31}}, nil, "no process 31 was recorded", nil},
		{recording.Scope{PIDs: []int64{-1}}, nil, "no process -1 was recorded", nil},
		{recording.Scope{PIDs: []int64{12, 31}}, nil, "no process 31 was recorded", nil},
		{recording.Scope{PIDs: []int64{0}, Process: "cron"}, nil, "no process 0 was recorded", []uint32{30}},
		{recording.Scope{PIDs: []int64{30}, Process: "python3"}, nil, `no process "python3" was recorded`, []uint32{12, 7}},
		{recording.Scope{Process: "«cron»"}, nil, `no process "«cron»" was recorded`, nil},
	} {
		v, err := recording.Ask(t.Context(), minute(now), recording.Question{Scope: c.scope}, now)
		if c.err != "" {
			no, ok := errors.AsType[*recording.NoProcessError](err)
			if !ok || !recording.IsMistaken(err) || no.Error() != c.err || !slices.Equal(no.Named, c.named) ||
				!slices.Equal(no.Traced, []string{"python3", "Python3"}) {
				t.Errorf("%v: error %v, %+v", c.scope.PIDs, err, no)
			}
			continue
		}
		if err != nil || !slices.Equal(v.PIDs, c.want) {
			t.Errorf("%v %s: %+v, %v", c.scope.PIDs, c.scope.Process, v, err)
			continue
		}
		if got := v.Wants(7); got != (c.want == nil || slices.Contains(c.want, 7)) {
			t.Errorf("%v %s: wants 7: %t", c.scope.PIDs, c.scope.Process, got)
		}
	}
}

func TestWindowThatCutsASecondIsNoted(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"", "", false},
		{"2026-03-01T11:00:10Z", "2026-03-01T11:00:20Z", false},
		{"2026-03-01T11:00:10.25Z", "", true},
		{"", "2026-03-01T11:00:20.25Z", true},
		{"2026-03-01T11:00:00.25Z", "2026-03-01T11:02:00.25Z", false}, // nothing is outside
	} {
		q := recording.Question{Span: recording.Span{From: c.from, To: c.to}}
		v, err := recording.Ask(t.Context(), minute(now), q, now)
		if err != nil || v.CutsSecond() != c.want {
			t.Errorf("%s to %s: %v, want %t", c.from, c.to, err, c.want)
		}
	}
}

func TestConditionOnViews(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	q := recording.Question{Span: recording.Span{From: "1772362810"}, Scope: recording.Scope{Process: "python3"}}
	v, err := recording.Ask(t.Context(), minute(now), q, now)
	if err != nil {
		t.Fatal(err)
	}
	want := "timestamp >= 1772362810000000000 and timestamp < 9223372036854775807 and pid in (7,12)"
	if got := v.Condition(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestStateOfARecording(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		stopped bool
		ago     time.Duration
		want    recording.State
	}{
		{true, time.Hour, recording.Complete},
		{true, time.Second, recording.Complete},
		{false, time.Second, recording.Live},
		{false, time.Hour, recording.CutOff},
	} {
		end := uint64(now.Add(-c.ago).UnixNano())
		s := store.Session{Started: end - uint64(time.Minute), Flushed: end}
		if c.stopped {
			s.Stopped = end
		}
		sum := store.Summary{Sessions: []store.Session{s}, First: s.Started, Last: end}
		got, err := recording.Summarize(t.Context(), steadyCalls{sum}, now)
		if err != nil || got.State != c.want || got.Outermost == 0 || got.Uncounted {
			t.Errorf("stopped %t, %v ago: %+v, %v", c.stopped, c.ago, got, err)
		}
	}
}
