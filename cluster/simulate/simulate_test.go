package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/cluster/health"
)

// found runs trials of a job and scores them.
func found(trials int, window float64, make func(*rand.Rand) Job) Score {
	l := &lab{options: Options{Seed: 11}}
	return l.trials(trials, window, make)
}

func TestStragglersAreFound(t *testing.T) {
	for _, c := range []struct {
		n, slow, trials int
		step            float64
	}{{3, 1, 10, 0.2}, {8, 1, 10, 0.2}, {64, 2, 3, 0.2}, {8, 1, 5, 0.05}, {8, 1, 10, 1}} {
		for _, f := range slowdowns {
			s := found(c.trials, 60, withStragglers(c.n, c.slow, c.step, 0.02, f, 60))
			if s.Miss > 0 || s.False > 0 || s.Other > 0 {
				t.Errorf("%d ranks, step %g s, x%g: %+v", c.n, c.step, f, s)
			}
			if c.step < 1 && s.quantile(0.5) > soon {
				t.Errorf("%d ranks, step %g s, x%g: median %.1f s", c.n, c.step, f, s.quantile(0.5))
			}
		}
	}
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	for _, c := range []struct {
		name   string
		trials int
		make   func(*rand.Rand) Job
	}{
		{"all disturbances, 3 ranks", 4, func(r *rand.Rand) Job { return disturbed(3, 1, 0.03, 1200, r) }},
		{"all disturbances, 8 ranks", 4, func(r *rand.Rand) Job { return disturbed(8, 0.2, 0.05, 1200, r) }},
		{"all disturbances, 64 ranks", 2, func(r *rand.Rand) Job { return disturbed(64, 1, 0.03, 900, r) }},
		{"changes of all", 20, func(r *rand.Rand) Job {
			j := ordinary(8, 0.5, 0.03)
			j.ChangeAt, j.Change, j.Length = 60, 0.6+1.4*r.Float64(), 120
			return j
		}},
		{"bursts and stalls", 2, func(*rand.Rand) Job {
			j := ordinary(8, 0.2, 0.02)
			j.Bursts, j.Stalls, j.Length = 60, 60, 300
			return j
		}},
		{"pipeline stages", 2, func(*rand.Rand) Job {
			j := ordinary(16, 0.2, 0.02)
			j.Stages, j.StageMore, j.Length = 4, 0.4, 200
			return j
		}},
		{"unequal work", 1, func(*rand.Rand) Job {
			j := ordinary(16, 1, 0.02)
			j.Work, j.WorkPower, j.Known, j.Length = 0.14, 0.9, true, 900
			return j
		}},
	} {
		if s := found(c.trials, 60, c.make); s.False > 0 || s.Other > 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// Disturbances of agents and fleets do not hide a straggler.
func TestNetwork(t *testing.T) {
	for _, c := range []struct {
		name string
		net  func(onset float64) Net
	}{
		{"pushes are lost", func(float64) Net { return Net{Lost: 0.3} }},
		{"the fleet restarts", func(at float64) Net { return Net{Restarts: []float64{at + 2, at + 4}} }},
		{"to another replica and back", func(at float64) Net { return Net{Moves: []float64{at - 20, at + 3}} }},
		{"no fleet for half a minute", func(at float64) Net { return Net{Down: [2]float64{at, at + 30}} }},
		{"slow pushes", func(float64) Net { return Net{Every: 5e9, Unaligned: true, NoPoll: true} }},
	} {
		s := found(4, 60, func(r *rand.Rand) Job {
			j := withStragglers(8, 1, 0.2, 0.02, 1.2, 60)(r)
			j.Net = c.net(j.Faults[0].From)
			return j
		})
		if s.Miss > 0 || s.False > 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// If agents choose from several fleets, an outage of one hides no straggler and causes no false verdict.
func TestOutagesOfOneOfSeveralFleets(t *testing.T) {
	for _, fleets := range []int{2, 5} {
		l := &lab{options: Options{Seed: 11, Quick: true}}
		l.amongOf(16, fleets)
		for _, r := range l.rows {
			if r.Missed > 0 || r.False > 0 || r.Other > 0 || r.Trials == 0 {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestKindsOfFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
	}{
		{"now and then", func(j *Job) { j.Faults[0].Share, j.Faults[0].Factor = 0.5, 1.4 }},
		{"slowly", func(j *Job) { j.Faults[0].Rise = 60 }},
		{"from the start", func(j *Job) { j.Faults[0].From = 0 }},
		{"free ranks", func(j *Job) { j.Free, j.Skew = true, 0.2 }},
		{"half of the wait booked as work", func(j *Job) { j.Leak = 0.5 }},
	} {
		s := found(3, 120, func(r *rand.Rand) Job {
			j := withStragglers(8, 1, 0.2, 0.02, 1.25, 120)(r)
			c.change(&j)
			return j
		})
		if s.Miss > 0 || s.False > 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestRanksThatLeave(t *testing.T) {
	for kind, exit := range map[health.Kind]bool{health.KindGone: true, health.KindMissing: false} {
		j := ordinary(8, 0.2, 0.02)
		j.Length, j.Leaves, j.Exit = 100, map[int]float64{4: 60}, exit
		var verdicts []string
		runJob(&j, rand.New(rand.NewPCG(1, 1)), func(v health.Verdict) {
			verdicts = append(verdicts, fmt.Sprintf("%v of %d", v.Kind, v.Rank))
		})
		if want := []string{fmt.Sprintf("%v of 4", kind)}; !cmp.Equal(verdicts, want) {
			t.Errorf("verdicts %v, want %v", verdicts, want)
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	one := found(2, 60, withStragglers(8, 1, 0.2, 0.03, 1.2, 60))
	if d := cmp.Diff(one, found(2, 60, withStragglers(8, 1, 0.2, 0.03, 1.2, 60))); d != "" {
		t.Error(d)
	}
}

// Work takes factor times as long within a fault, and as long as usual outside.
func TestStretch(t *testing.T) {
	for _, c := range []struct{ t, w, from, until, factor, want float64 }{
		{0, 1, 5, 9, 2, 1},
		{0, 1, 0.5, math.Inf(1), 2, 1.5},
		{6, 1, 5, 9, 2, 2},
		{8, 1, 5, 9, 2, 1.5},
		{4, 4, 5, 9, 2, 6},
		{10, 1, 5, 9, 2, 1},
	} {
		if got := stretch(c.t, c.w, c.from, c.until, c.factor); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

func TestScore(t *testing.T) {
	s := Score{Hit: 8, Miss: 2, Soon: 6, False: 2, Delay: []float64{5, 1, 3}}
	f1, soon := s.F1()
	if f1 != 0.8 || math.Abs(soon-12.0/18) > 1e-12 || s.quantile(0.5) != 3 {
		t.Errorf("F1 %g, in 10 s %g, median %g", f1, soon, s.quantile(0.5))
	}
}

func TestTargetsCanBeMissed(t *testing.T) {
	good := []Row{
		{Part: partStraggler, N: 8, F1: 1, P95S: 8},
		{Part: partStraggler, N: 1000, F1: 1, P95S: 11},
		{Part: partChange, Trials: 1000},
		{Part: partQuiet, RankHour: 100000},
		{Part: partAmong, Case: "killed", Found: 10},
		{Part: partAmong, Case: lostCase, Found: 9, Missed: 1},
	}
	if r := (Result{Targets: targets(good)}); !r.Met() || len(r.Targets) != 9 {
		t.Errorf("%+v", r.Targets)
	}
	for i, bad := range []Row{
		{Part: partStraggler, N: 8, F1: 0.98, P95S: 8},
		{Part: partStraggler, N: 8, F1: 1, P95S: 9},
		{Part: partStraggler, N: 8, F1: 1, P95S: Number(math.NaN())},
		{Part: partStraggler, N: 1000, F1: 1, P95S: 12},
		{Part: partChange, Trials: 1, False: 1},
		{Part: partQuiet, RankHour: 1000, False: 1},
		{Part: partQuiet, RankHour: 1000, Other: 1},
		{Part: partAmong, Found: 9, Missed: 1},
		{Part: partAmong, Found: 9, False: 1},
		{Part: partAmong, Found: 9, Other: 1},
	} {
		if r := (Result{Targets: targets([]Row{bad})}); r.Met() {
			t.Errorf("%d: met by %+v", i, bad)
		}
	}
}

// madeTrace returns a trace of two stages of 8 ranks with unequal micro-batches.
func madeTrace() string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for step := range 40 {
		for micro := range 8 {
			for place := range 8 {
				work := math.Exp(0.25 * r.NormFloat64())
				for stage := range 2 {
					own := (0.2*float64(stage) + 0.4*work) * math.Exp(0.01*r.NormFloat64())
					fmt.Fprintf(&b, "%d,%d,%d,%d,0,%.6f,8.0\n", stage, 8*stage+place, step, micro, own)
				}
			}
		}
	}
	return b.String()
}

func TestReplay(t *testing.T) {
	trace, err := ReadTrace(strings.NewReader(madeTrace()))
	if err != nil || !trace.HasWork() {
		t.Fatal(err, trace)
	}
	alarms, err := trace.Replay(1, true, Injection{})
	if err != nil || len(alarms) != 0 {
		t.Errorf("as recorded: %v, %+v", err, alarms)
	}
	alarms, err = trace.Replay(1, true, Injection{Rank: 5, Factor: 1.2, AtS: 120})
	if err != nil || len(alarms) != 1 || alarms[0].Rank != 5 || alarms[0].Type != "straggler" ||
		alarms[0].TimeS < 120 || alarms[0].TimeS > 140 {
		t.Errorf("with a straggler: %v, %+v", err, alarms)
	}
	if _, err = trace.Replay(1, true, Injection{Rank: 16, Factor: 1.2}); err == nil {
		t.Error("there is no rank 16")
	}
	rows, err := trace.Table(1, 4)
	if err != nil || len(rows) != 8 {
		t.Fatal(err, rows)
	}
	for _, r := range rows {
		if strings.Contains(r.Case, "by amount") && (r.Missed > 0 || r.False > 0) {
			t.Errorf("%+v", r)
		}
	}
}

func TestBadTraces(t *testing.T) {
	ok := "0,0,1,0,0,0.5,1\n0,1,1,0,0,0.5,1\n0,2,1,0,0,0.5,1\n"
	if _, err := ReadTrace(strings.NewReader(ok)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "0,0,1,0,0,0.5,1\n", "a,b,c\n", ok + "0,3,1,0,0,x,1\n", ok + "0,3,1,0,0,NaN,1\n", ok + "0,3,1,0,0,0,1\n",
		ok + "0,3,1,0,0,-1,1\n", ok + "0,3,1,0,0,Inf,1\n", ok + "0,0,2,0,0,0.5,1\n", ok + "0,3,1,0,0,0.5\n",
		strings.ReplaceAll(ok, "0.5,1", "0.5,2000000"), strings.ReplaceAll(ok+strings.ReplaceAll(ok, ",1,0,0", ",2,0,0"), "0.5,", "600000,"),
	} {
		if _, err := ReadTrace(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a trace", text)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add("0,0,1,0,0,0.5,1\n0,1,1,0,0,0.5,1\n0,2,1,0,0,0.5,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ReadTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		if _, err := trace.Replay(1, trace.HasWork(), Injection{}); err != nil {
			t.Error(err)
		}
	})
}

func TestResultAsJSON(t *testing.T) {
	r := Result{Table: []Row{{Part: partQuiet, N: 8, F1: Number(math.NaN())}}}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Alarms []Alarm `json:"alarms"`
		Table  []struct {
			N  int      `json:"n"`
			F1 *float64 `json:"f1"`
		} `json:"table"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Alarms == nil || len(got.Table) != 1 ||
		got.Table[0].N != 8 || got.Table[0].F1 != nil {
		t.Errorf("%v: %s", err, b.String())
	}
}
