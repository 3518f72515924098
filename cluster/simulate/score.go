package simulate

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event/stats"
)

// Alarm is a verdict of a simulated or replayed job.
type Alarm struct {
	Type     string  `json:"type"`
	Rank     int32   `json:"rank"` // -1: the whole cohort
	TimeS    float64 `json:"time_s"`
	SinceS   float64 `json:"since_s"`
	Excess   float64 `json:"excess"` // 0.2: 20 % longer
	Resolved bool    `json:"resolved,omitempty"`
	Folded   bool    `json:"folded,omitempty"` // part of a cohort_degraded
}

func alarm(v health.Verdict) Alarm {
	return Alarm{
		Type: v.Kind.String(), Rank: v.Rank, TimeS: v.At.Seconds(), SinceS: v.Since.Seconds(),
		Excess: v.Excess, Resolved: v.Resolved, Folded: v.Folded,
	}
}

// Score counts hits, misses and false verdicts.
type Score struct {
	Trials          int
	Hit, Miss, Soon int       // stragglers; Soon: within 10 s
	Delay           []float64 // seconds from onset to verdict, of hits
	False           int       // verdicts on ranks that are not stragglers
	Other           int       // false verdicts of hang, gone, missing and cohort_degraded
	SlowVsSelf      int
	CohortSlow      int
	RankHours       float64
}

// soon is the target delay in seconds.
const soon = 10

// trial runs a job and scores it: a fault must be reported within window seconds.
func (s *Score) trial(j *Job, random *rand.Rand, window float64) {
	first := map[int32]float64{}
	degraded := len(j.Faults)*4 > j.Ranks && len(j.Faults) >= 3
	hours := runJob(j, random, func(v health.Verdict) {
		if v.Resolved {
			return
		}
		switch v.Kind {
		case health.KindStraggler:
			if !j.faulty(v.Rank, v.At.Seconds()) {
				s.False++
			} else if _, found := first[v.Rank]; !found {
				first[v.Rank] = v.At.Seconds()
			}
		case health.KindSlowVsSelf:
			s.SlowVsSelf++
		case health.KindCohortSlow:
			s.CohortSlow++
		case health.KindCohortDegraded:
			if !degraded {
				s.Other++
			}
		case health.KindGone, health.KindMissing, health.KindHang:
			if _, leaves := j.Leaves[int(v.Rank)]; !leaves {
				s.Other++
			}
		}
	})
	s.Trials++
	s.RankHours += hours * float64(j.Ranks)
	for i := range j.Faults {
		t, found := first[int32(j.Faults[i].Rank)]
		delay := t - j.Faults[i].From
		if !found || delay > window {
			s.Miss++
			continue
		}
		s.Hit++
		s.Delay = append(s.Delay, delay)
		if delay <= soon {
			s.Soon++
		}
	}
}

func (j *Job) faulty(rank int32, t float64) bool {
	for i := range j.Faults {
		if f := &j.Faults[i]; f.Rank == int(rank) && t >= f.From {
			return true
		}
	}
	return false
}

func (s *Score) addScore(o Score) {
	s.Trials += o.Trials
	s.Hit += o.Hit
	s.Miss += o.Miss
	s.Soon += o.Soon
	s.False += o.False
	s.Other += o.Other
	s.SlowVsSelf += o.SlowVsSelf
	s.CohortSlow += o.CohortSlow
	s.RankHours += o.RankHours
	s.Delay = append(s.Delay, o.Delay...)
}

// F1 returns the harmonic mean of precision and recall; soon counts only hits within 10 s. NaN: nothing to find.
func (s *Score) F1() (all, soon float64) {
	f1 := func(hit int) float64 {
		miss := s.Hit + s.Miss - hit
		return 2 * float64(hit) / float64(2*hit+s.False+miss)
	}
	if s.Hit+s.Miss == 0 {
		return math.NaN(), math.NaN()
	}
	return f1(s.Hit), f1(s.Soon)
}

// quantile returns a quantile of the delays; NaN if there are none.
func (s *Score) quantile(q float64) float64 {
	if len(s.Delay) == 0 {
		return math.NaN()
	}
	return stats.Nearest(slices.Sorted(slices.Values(s.Delay)), q)
}
