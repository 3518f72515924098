package health

import "math"

// work learns how own work depends on the amount of work done, and removes that dependence. In a job with variable
// sequence lengths, unequal amounts cause most of the noise.
//
// The model is a line, a fixed cost plus a cost per unit, through this rank's own steps. Each step counts relative to
// the level of the last ones: when all steps of a job get longer, the line stays.
type work struct {
	n                   int
	first               [workWarm]struct{ amount, own float64 } // steps that the line is first fitted to
	amount, own         float64                                 // means
	variance, covariant float64
	level               float64 // own work of the last steps with the usual amount, in seconds
}

const (
	// workSteps is the number of steps that the line is averaged over, workLevel that of the level.
	workSteps, workLevel = 512, 8
	// workWarm is the number of steps that the line is first fitted to.
	workWarm = 20
	// workClip bounds how much one step may differ from what is expected, as a share: a stall is not work.
	workClip = 0.3
	// workLeast is the spread of amounts, as a share of their mean, below which nothing depends on them.
	workLeast = 0.01
	// workRange bounds the factor by which own work may depend on the amount.
	workRange = 10
)

// even returns what the own work (log of seconds) would have been with the reference amount of work. All ranks of a
// cohort have the same reference, so a rank that gets more work for a while does not look slower.
func (w *work) even(log, amount, reference float64) float64 {
	if !(amount > 0) || math.IsInf(amount, 0) {
		return log
	}
	own := math.Exp(log)
	if w.n < workWarm {
		w.first[w.n].amount, w.first[w.n].own = amount, own
		w.n++
		w.amount += (amount - w.amount) / float64(w.n)
		if w.n == workWarm {
			w.begin()
		}
		return log
	}
	w.learn(own, amount)
	if !(reference > 0) {
		return log
	}
	return log - math.Log(w.expected(amount)/w.expected(reference))
}

// begin fits the line with the median slope of all pairs of the first steps: up to a third of them may be stalls.
func (w *work) begin() {
	var slopes [workWarm * (workWarm - 1) / 2]float64
	var owns [workWarm]float64
	least := workLeast * w.amount
	k := 0
	for i, a := range w.first {
		owns[i] = a.own
		w.variance += (a.amount - w.amount) * (a.amount - w.amount) / workWarm
		for _, b := range w.first[:i] {
			if d := a.amount - b.amount; math.Abs(d) > least {
				slopes[k] = (a.own - b.own) / d
				k++
			}
		}
	}
	w.level, w.own = median(owns[:]), 1
	if k > 0 {
		w.covariant = median(slopes[:k]) / w.level * w.variance
	}
}

func (w *work) learn(own, amount float64) {
	expected := w.level * w.expected(amount)
	off := min(max(own/expected-1, -workClip), workClip)
	share := (1 + off) * w.expected(amount)
	w.level *= 1 + off/workLevel
	w.n = min(w.n+1, workSteps)
	k := 1 / float64(w.n)
	da, do := min(amount, workRange*w.amount)-w.amount, share-w.own
	w.amount += k * da
	w.own += k * do
	w.variance += k * (da*da*(1-k) - w.variance)
	w.covariant += k * (da*do*(1-k) - w.covariant)
}

// expected returns the own work that an amount takes, relative to the level.
func (w *work) expected(amount float64) float64 {
	least := workLeast * w.amount
	slope := max(0, w.covariant/(w.variance+least*least))
	return min(max(w.own+slope*(amount-w.amount), w.own/workRange), w.own*workRange)
}

// pending reports whether steps have amounts that cannot be scaled yet.
func (w *work) pending(reference float64) bool {
	return w.n > 0 && (w.n < workWarm || !(reference > 0))
}
