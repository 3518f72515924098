package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Options define what to simulate.
type Options struct {
	Ranks []int // sizes of cohorts; nil: 3, 8, 64 and 1000
	Quick bool  // few trials: seconds instead of minutes
	Seed  uint64
	// Row is called for each finished row, if it is not nil.
	Row func(Row)
}

// Number is a float64. NaN is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 4, 64), nil
}

// Row is the result of an experiment.
type Row struct {
	Part     string `json:"part"` // see parts
	Case     string `json:"case"`
	N        int    `json:"n"`
	StepS    Number `json:"step_s"`
	Noise    Number `json:"noise"`
	Trials   int    `json:"trials"`
	Found    int    `json:"found"`
	Missed   int    `json:"missed"`
	F1       Number `json:"f1"`
	F1Soon   Number `json:"f1_10s"` // counting only verdicts within 10 s
	MedianS  Number `json:"median_s"`
	P95S     Number `json:"p95_s"`
	False    int    `json:"false_alarms"`
	Other    int    `json:"other_false"` // hang, gone, missing, cohort_degraded
	RankHour Number `json:"rank_hours"`
	PerRank  Number `json:"per_1000_rank_hours"`
	PerNode  Number `json:"per_1000_node_hours"` // nodes of 8 ranks
}

// The parts of a run.
const (
	partStraggler = "straggler"
	partGrid      = "grid"
	partChange    = "change"
	partQuiet     = "quiet"
	partCase      = "case"
	partAmong     = "fleets"
	partWork      = "work"
)

func (s *Score) row(part, name string, n int, step, noise float64) Row {
	f1, soon := s.F1()
	per := math.NaN()
	if s.RankHours > 0 {
		per = float64(s.False) / s.RankHours * 1000
	}
	return Row{
		Part: part, Case: name, N: n, StepS: Number(step), Noise: Number(noise), Trials: s.Trials,
		Found: s.Hit, Missed: s.Miss, F1: Number(f1), F1Soon: Number(soon),
		MedianS: Number(s.quantile(0.5)), P95S: Number(s.quantile(0.95)),
		False: s.False, Other: s.Other, RankHour: Number(s.RankHours), PerRank: Number(per), PerNode: Number(8 * per),
	}
}

// lab runs the experiments.
type lab struct {
	options Options
	rows    []Row
	stream  uint64
}

// Run runs all experiments.
func Run(o Options) Result {
	if o.Ranks == nil {
		o.Ranks = []int{3, 8, 64, 1000}
	}
	l := &lab{options: o}
	l.stragglers()
	l.grid()
	l.changes()
	l.quiet()
	l.cases()
	l.among()
	l.works()
	return Result{Table: l.rows, Targets: targets(l.rows)}
}

func (l *lab) has(n int) bool { return slices.Contains(l.options.Ranks, n) }

func (l *lab) addRow(r Row) {
	l.rows = append(l.rows, r)
	if l.options.Row != nil {
		l.options.Row(r)
	}
}

// few returns the number of trials in a quick run.
func (l *lab) few(trials int) int {
	if l.options.Quick {
		return max(1, trials/12)
	}
	return trials
}

// trials runs n jobs from make, each with its own random numbers.
func (l *lab) trials(n int, window float64, make func(r *rand.Rand) Job) Score {
	var s Score
	for range n {
		l.stream++
		r := rand.New(rand.NewPCG(l.options.Seed, l.stream))
		j := make(r)
		s.trial(&j, r, window)
	}
	return s
}

// settled returns the time in seconds after which a rank's offset and noise are known.
func settled(step float64) float64 { return max(45, 26*max(1.1*step, 1.3)) }

// withStragglers returns a maker of ordinary jobs in which k ranks become slower by factor.
func withStragglers(n, k int, step, noise, factor, window float64) func(*rand.Rand) Job {
	return func(r *rand.Rand) Job {
		j := ordinary(n, step, noise)
		from := settled(step) + 10*r.Float64()
		j.Length = from + window + 8
		for _, i := range r.Perm(n)[:k] {
			j.Faults = append(j.Faults, Fault{Rank: i, Factor: factor, From: from})
		}
		return j
	}
}

var slowdowns = []float64{1.1, 1.2, 1.3}

// stragglers is the first part: 10, 20 and 30 % at steps of 0.2 s and noise of 3 %.
func (l *lab) stragglers() {
	for _, c := range []struct{ n, slow, trials int }{{3, 1, 200}, {8, 1, 200}, {64, 2, 60}, {1000, 20, 8}} {
		if !l.has(c.n) {
			continue
		}
		var all Score
		for _, f := range slowdowns {
			all.addScore(l.trials(l.few(c.trials), 60, withStragglers(c.n, c.slow, 0.2, 0.03, f, 60)))
		}
		l.addRow(all.row(partStraggler, "10, 20, 30 %", c.n, 0.2, 0.03))
	}
}

// grid varies step and noise.
func (l *lab) grid() {
	steps, noises := []float64{0.05, 0.2, 1, 5}, []float64{0.01, 0.03, 0.05}
	if l.options.Quick {
		steps, noises = []float64{0.05, 1, 5}, []float64{0.03}
	}
	for _, c := range []struct{ n, slow, trials int }{{3, 1, 60}, {8, 1, 60}, {64, 2, 24}, {1000, 20, 2}} {
		for _, step := range steps {
			for _, noise := range noises {
				if !l.has(c.n) || c.n == 1000 && (step < 0.2 && noise != 0.03 || l.options.Quick) {
					continue
				}
				window := 60.0
				if step >= 5 {
					window = 120
				}
				var all Score
				for _, f := range slowdowns {
					all.addScore(l.trials(l.few(c.trials), window, withStragglers(c.n, c.slow, step, noise, f, window)))
				}
				l.addRow(all.row(partGrid, "10, 20, 30 %", c.n, step, noise))
			}
		}
	}
}

// changes affect all ranks of a cohort: none is slow.
func (l *lab) changes() {
	for _, c := range []struct{ n, trials int }{{3, 400}, {8, 400}, {64, 190}, {1000, 10}} {
		if !l.has(c.n) || c.n == 1000 && l.options.Quick {
			continue
		}
		s := l.trials(l.few(c.trials), 60, func(r *rand.Rand) Job {
			j := ordinary(c.n, 0.5, 0.03)
			j.ChangeAt, j.Length = 60+5*r.Float64(), 180
			j.Change = 0.6 + 1.4*r.Float64()
			return j
		})
		l.addRow(s.row(partChange, "all ranks x0.6 to x2", c.n, 0.5, 0.03))
	}
}

// quietHours is the length of a job without stragglers, with all disturbances.
const quietHours = 2

// quiet runs jobs with nothing to find.
func (l *lab) quiet() {
	for _, c := range []struct {
		n           int
		step, noise float64
		rankHours   int
	}{
		{3, 1, 0.03, 6000},
		{8, 1, 0.01, 8000},
		{8, 1, 0.05, 8000},
		{8, 0.2, 0.03, 2400},
		{8, 5, 0.05, 8000},
		{64, 1, 0.03, 12800},
		{64, 0.2, 0.05, 2560},
		{64, 5, 0.03, 12800},
		{1000, 1, 0.03, 20000},
		{1000, 0.5, 0.05, 4000},
		{1000, 5, 0.03, 24000},
	} {
		hours, trials := float64(quietHours), c.rankHours/(c.n*quietHours)
		if !l.has(c.n) || l.options.Quick && c.n == 1000 && c.step != 1 {
			continue
		}
		if l.options.Quick {
			hours, trials = 0.25, max(1, c.rankHours/(100*c.n))
		}
		s := l.trials(trials, 60, func(r *rand.Rand) Job { return disturbed(c.n, c.step, c.noise, hours*3600, r) })
		l.addRow(s.row(partQuiet, "no straggler, all disturbances", c.n, c.step, c.noise))
	}
}

// disturbed returns a job without stragglers, with all other disturbances.
func disturbed(n int, step, noise, length float64, r *rand.Rand) Job {
	j := ordinary(n, step, noise)
	j.Length, j.Phases, j.Checkpoints = length, true, true
	j.Net.Lost = 0.001
	down := length * (0.2 + 0.6*r.Float64())
	j.Net.Down = [2]float64{down, down + 60}
	for range 2 {
		j.Net.Restarts = append(j.Net.Restarts, length*r.Float64())
	}
	slices.Sort(j.Net.Restarts)
	if n >= 8 {
		j.Joins = map[int]float64{1: length * 0.5 * r.Float64()}
		j.Leaves = map[int]float64{2: length * (0.5 + 0.5*r.Float64())}
		j.Exit = r.Float64() < 0.5
	}
	return j
}

// works compares known and unknown amounts of work, in jobs where they vary.
func (l *lab) works() {
	if !l.has(64) {
		return
	}
	for _, known := range []bool{false, true} {
		name := "unequal work, amount not known"
		if known {
			name = "unequal work, amount known"
		}
		unequal := func(j Job) Job {
			j.Work, j.WorkPower, j.Known = 0.14, 0.9, known
			return j
		}
		var all Score
		for _, f := range slowdowns {
			make := withStragglers(64, 1, 1, 0.02, f, 300)
			all.addScore(l.trials(l.few(24), 300, func(r *rand.Rand) Job {
				j := make(r)
				j.Faults[0].From += 300 // the noise is known after five minutes
				j.Length += 300
				return unequal(j)
			}))
		}
		l.addRow(all.row(partWork, name, 64, 1, 0.02))
		s := l.trials(l.few(24), 60, func(r *rand.Rand) Job {
			return unequal(disturbed(64, 1, 0.02, 3600, r))
		})
		l.addRow(s.row(partWork, name+", no straggler", 64, 1, 0.02))
	}
}

// cases are single special cases.
func (l *lab) cases() {
	plain := func(factor float64, k int, change func(*Job)) func(*rand.Rand) Job {
		return func(r *rand.Rand) Job {
			j := withStragglers(8, k, 0.2, 0.02, factor, 120)(r)
			change(&j)
			return j
		}
	}
	none := func(*Job) {}
	all := []struct {
		name string
		n    int
		make func(*rand.Rand) Job
	}{
		{"15 and 25 % in one job", 8, plain(1.15, 2, func(j *Job) { j.Faults[1].Factor = 1.25 })},
		{"4 of 8 slow by 20 %", 8, plain(1.2, 4, none)},
		{"half of the pushes lost, 15 %", 8, plain(1.15, 1, func(j *Job) { j.Net.Lost = 0.5 })},
		{"to another replica and back, 15 %", 8, plain(1.15, 1, func(j *Job) {
			j.Net.Moves = []float64{j.Faults[0].From - 20, j.Faults[0].From + 3}
		})},
		{"fleets restart 2 s after onset, 15 %", 8, plain(1.15, 1, func(j *Job) {
			j.Net.Restarts = []float64{j.Faults[0].From + 2}
		})},
		{"fleets away for 30 s from onset, 15 %", 8, plain(1.15, 1, func(j *Job) {
			j.Net.Down = [2]float64{j.Faults[0].From, j.Faults[0].From + 30}
		})},
		{"push every 5 s, not aligned, no poll, 15 %", 8, plain(1.15, 1, func(j *Job) {
			j.Net = Net{Every: 5e9, Unaligned: true, NoPoll: true}
		})},
		{"4 pipeline stages, last +50 %, 15 %", 16, func(r *rand.Rand) Job {
			j := withStragglers(16, 1, 0.2, 0.02, 1.15, 120)(r)
			j.Stages, j.StageMore = 4, 0.4
			return j
		}},
		{"half of the wait booked as work, 20 %", 8, plain(1.2, 1, func(j *Job) { j.Leak = 0.5 })},
		{"drift to 20 % in 2 minutes", 8, plain(1.2, 1, func(j *Job) { j.Faults[0].Rise = 120 })},
		{"40 % for 3.5 s of each 10 s", 8, plain(1.4, 1, func(j *Job) {
			j.Faults[0].Share = 0.35
			j.Faults[0].From += 150
			j.Length += 150
		})},
		{"slow from the start, 20 %", 8, plain(1.2, 1, func(j *Job) { j.Faults[0].From = 0 })},
		{"free ranks, clocks 0.5 s apart, 20 %", 8, plain(1.2, 1, func(j *Job) { j.Free, j.Skew = true, 0.25 })},
	}
	for _, c := range all {
		if l.has(8) {
			s := l.trials(l.few(48), 120, c.make)
			l.addRow(s.row(partCase, c.name, c.n, 0.2, 0.02))
		}
	}
	if l.has(8) {
		s := l.trials(l.few(48)*2, 60, func(r *rand.Rand) Job { // a burst is not a straggler
			j := ordinary(8, 0.2, 0.02)
			j.Bursts, j.Stalls, j.Length = 60, 60, 600
			return j
		})
		l.addRow(s.row(partCase, "a burst and a stall a minute", 8, 0.2, 0.02))
	}
}
