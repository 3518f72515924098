package health

import "math"

// work learns how own work depends on the amount of work done, and takes that dependence out. In a
// job with variable sequence lengths most of the noise is that ranks are given unequal amounts.
//
// It is a line, a fixed cost and a cost for each unit, through this rank's own steps.
type work struct {
	n                   float64
	amount, own         float64 // means; own in seconds
	variance, covariant float64
}

const (
	// workSteps is over how many steps the dependence is averaged; workWarm must be known.
	workSteps, workWarm = 512, 20
	// workClip bounds what one step counts, in means: stalls are no work.
	workClip = 4
	// workLeast is the spread of amounts, as a share of the mean, below which nothing depends on them.
	workLeast = 0.01
	// workRange bounds by how much own work may depend on the amount.
	workRange = 10
)

// even is what the own work (log of seconds) would have been with the reference amount of work. All
// ranks of a cohort have the same reference, so that a rank that was given more for a while is not
// taken for a slower one. hold: learn nothing.
func (w *work) even(log, amount, reference float64, hold bool) float64 {
	if !(amount > 0) || math.IsInf(amount, 0) {
		return log
	}
	own := math.Exp(log)
	if w.n == 0 {
		w.amount, w.own = amount, own
	}
	if !hold {
		w.learn(own, amount)
	}
	if w.n < workWarm || !(reference > 0) {
		return log
	}
	return log - math.Log(w.expected(amount)/w.expected(reference))
}

// expected is the own work that an amount takes.
func (w *work) expected(amount float64) float64 {
	least := workLeast * w.amount
	slope := max(0, w.covariant/(w.variance+least*least))
	return min(max(w.own+slope*(amount-w.amount), w.own/workRange), w.own*workRange)
}

func (w *work) learn(own, amount float64) {
	da := min(amount, workClip*w.amount) - w.amount
	do := min(own, workClip*w.own) - w.own
	w.n = min(w.n+1, workSteps)
	k := 1 / w.n
	w.amount += k * da
	w.own += k * do
	w.variance += k * (da*da*(1-k) - w.variance)
	w.covariant += k * (da*do*(1-k) - w.covariant)
}

// pending reports whether steps have amounts whose meaning is not known yet.
func (w *work) pending(reference float64) bool {
	return w.n > 0 && (w.n < workWarm || !(reference > 0))
}
