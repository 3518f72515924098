package simulate

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/ingero-io/ingero/cluster/health"
)

const partReplay = "replay"

// Trace is the measured own work of a job.
type Trace struct {
	ranks  []int32     // numbers of the ranks
	stage  []int       // by rank
	own    [][]float64 // seconds, by rank and bucket
	amount [][]float64 // of work; see ReadTrace
	length []float64   // seconds, by bucket
}

// Injection is a straggler added to a trace.
type Injection struct {
	Rank   int32
	Factor float64 // 1.2: 20 % longer
	AtS    float64 // seconds after the trace's begin
}

// traceMost bounds the length of a trace in seconds: eleven days.
const traceMost = 1e6

// errTrace means that a row is invalid.
var errTrace = errors.New("want stage,rank,step,micro-batch,chunk,own seconds,step seconds")

type batch struct{ step, micro, chunk int }

// ReadTrace reads rows of: pipeline stage, rank, step, micro-batch, model chunk, seconds of the rank's own work in
// the micro-batch, seconds of the step. It is an error if a rank lacks a micro-batch.
//
// The amount of work in a micro-batch is taken from the other stages, if they have as many ranks: ranks in the same
// place work on the same sequences.
func ReadTrace(r io.Reader) (*Trace, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 7
	in.ReuseRecord = true
	stage := map[int32]int{}
	own := map[int32]map[batch]float64{}
	steps := map[batch]float64{}
	for line := 1; ; line++ {
		f, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		var n [7]float64
		for i := range n {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil || math.IsNaN(v) || v < 0 || v > traceMost || i >= 5 && v == 0 {
				return nil, fmt.Errorf("line %d: %q: %w", line, f[i], errTrace)
			}
			n[i] = v
		}
		rank, b := int32(n[1]), batch{int(n[2]), int(n[3]), int(n[4])}
		if own[rank] == nil {
			own[rank], stage[rank] = map[batch]float64{}, int(n[0])
		}
		own[rank][b] = n[5]
		steps[b] = n[6]
	}
	return newTrace(stage, own, steps)
}

func newTrace(stage map[int32]int, own map[int32]map[batch]float64, steps map[batch]float64) (*Trace, error) {
	if len(stage) < 3 {
		return nil, fmt.Errorf("%d ranks; a cohort has 3 or more", len(stage))
	}
	t := &Trace{}
	for rank := range stage {
		t.ranks = append(t.ranks, rank)
	}
	slices.Sort(t.ranks)
	var batches []batch
	inStep := map[int]int{}
	for b := range steps {
		batches = append(batches, b)
		inStep[b.step]++
	}
	slices.SortFunc(batches, func(a, b batch) int {
		return cmp.Or(a.step-b.step, a.micro-b.micro, a.chunk-b.chunk)
	})
	for _, b := range batches {
		t.length = append(t.length, steps[b]/float64(inStep[b.step]))
	}
	for _, rank := range t.ranks {
		t.stage = append(t.stage, stage[rank])
		var row []float64
		for _, b := range batches {
			v, ok := own[rank][b]
			if !ok {
				return nil, fmt.Errorf("rank %d has no micro-batch %d of step %d", rank, b.micro, b.step)
			}
			row = append(row, v)
		}
		t.own = append(t.own, row)
	}
	total := 0.0
	for b := range t.length {
		total += t.longest(b)
	}
	if total > traceMost {
		return nil, fmt.Errorf("the job takes %g s; %g at most are replayed", total, float64(traceMost))
	}
	t.amounts()
	return t, nil
}

// longest returns how long a bucket takes.
func (t *Trace) longest(bucket int) float64 {
	v := t.length[bucket]
	for _, own := range t.own {
		v = max(v, own[bucket])
	}
	return v
}

// amounts sets each rank's amount of work to the mean own work of the ranks in its place in other stages.
func (t *Trace) amounts() {
	places := map[int][]int{} // by stage
	for i, s := range t.stage {
		places[s] = append(places[s], i)
	}
	t.amount = make([][]float64, len(t.ranks))
	for i, s := range t.stage {
		place := slices.Index(places[s], i)
		t.amount[i] = make([]float64, len(t.length))
		for other, ranks := range places {
			if other == s || len(ranks) != len(places[s]) {
				continue
			}
			for b := range t.length {
				t.amount[i][b] += t.own[ranks[place]][b]
			}
		}
	}
}

// HasWork reports whether the amounts of work are known.
func (t *Trace) HasWork() bool { return t.amount[0][0] > 0 }

// replay generates own work from a trace.
type replay struct {
	trace        *Trace
	next         int
	inject       int // index of the rank, -1: none
	factor, from float64
	now          float64
}

func (r *replay) begin(t float64) { r.now = t; r.next++ }

func (r *replay) own(i int, t float64) (seconds, amount float64) {
	v := r.trace.own[i][r.next-1]
	if i == r.inject && t >= r.from {
		v *= r.factor
	}
	return v, r.trace.amount[i][r.next-1]
}

func (r *replay) took(longest float64) float64 {
	return max(longest, r.trace.length[r.next-1])
}

// Replay runs a trace through agents and a fleet. byWork: the agents know the amounts of work. A factor of 0 injects
// nothing.
func (t *Trace) Replay(seed uint64, byWork bool, in Injection) ([]Alarm, error) {
	source := &replay{trace: t, inject: slices.Index(t.ranks, in.Rank), factor: in.Factor, from: in.AtS}
	if in.Factor == 0 {
		source.inject = -1
	} else if source.inject < 0 {
		return nil, fmt.Errorf("there is no rank %d", in.Rank)
	}
	var alarms []Alarm
	job, random := &Job{Ranks: len(t.ranks), Known: byWork}, rand.New(rand.NewPCG(seed, 1))
	w := newWorld(job, source, t.stage, random, func(v health.Verdict) {
		a := alarm(v)
		if a.Rank >= 0 {
			a.Rank = t.ranks[a.Rank]
		}
		alarms = append(alarms, a)
	})
	for s, at := 0, 0.0; s < len(t.length); s++ {
		at = w.step(at)
	}
	return alarms, nil
}

// Table replays the trace as recorded, and with stragglers of 10, 20 and 30 %, for random ranks and at random times
// of its second quarter. If amounts of work are known, it does so without and with them.
func (t *Trace) Table(seed uint64, trials int) ([]Row, error) {
	var rows []Row
	for _, byWork := range []bool{false, true} {
		name := "own work"
		if byWork {
			name = "own work by amount"
		}
		if byWork && !t.HasWork() {
			break
		}
		for _, factor := range []float64{0, 1.1, 1.2, 1.3} {
			s, err := t.score(seed, trials, byWork, factor)
			if err != nil {
				return nil, err
			}
			label := name + ", as recorded"
			if factor > 0 {
				label = fmt.Sprintf("%s, %.0f %%", name, 100*(factor-1))
			}
			rows = append(rows, s.row(partReplay, label, len(t.ranks), t.total()/float64(len(t.length)), math.NaN()))
		}
	}
	return rows, nil
}

func (t *Trace) total() (seconds float64) {
	for _, v := range t.length {
		seconds += v
	}
	return seconds
}

func (t *Trace) score(seed uint64, trials int, byWork bool, factor float64) (Score, error) {
	var s Score
	random := rand.New(rand.NewPCG(seed, 2))
	for k := range trials {
		in := Injection{
			Rank: t.ranks[random.IntN(len(t.ranks))], Factor: factor, AtS: t.total() * (0.25 + 0.25*random.Float64()),
		}
		alarms, err := t.Replay(seed+uint64(k), byWork, in)
		if err != nil {
			return s, err
		}
		s.Trials++
		s.RankHours += t.total() / 3600 * float64(len(t.ranks))
		delay := -1.0
		for _, a := range alarms {
			switch {
			case a.Type != health.KindStraggler.String() || a.Resolved:
			case factor == 0 || a.Rank != in.Rank || a.TimeS < in.AtS:
				s.False++
			case delay < 0:
				delay = a.TimeS - in.AtS
			}
		}
		switch {
		case factor == 0:
		case delay < 0:
			s.Miss++
		default:
			s.Hit++
			s.Delay = append(s.Delay, delay)
			if delay <= soon {
				s.Soon++
			}
		}
	}
	return s, nil
}
