package health

import "math"

// work learns how own work depends on the amount of work done, and takes that dependence out. In a
// job with variable sequence lengths most of the noise is that ranks are given unequal amounts.
//
// It is a line through logs: own work ~ amount^slope, by this rank's own steps.
type work struct {
	n                     float64
	meanAmount, meanOwn   float64 // of logs
	varAmount, covariance float64
}

const (
	// workSteps is over how many steps the dependence is averaged; workWarm must be known.
	workSteps, workWarm = 512, 20
	// workClip bounds one step's part (log).
	workClip = 1.0
	// workLeast is the spread of amounts (log) below which nothing depends on them.
	workLeast = 0.01
	// slopeMost bounds the slope: attention grows with the square of a sequence's length.
	slopeMost = 2.0
)

// even is what the own work (log of seconds) would have been with this rank's usual amount of work.
// hold: learn nothing.
func (w *work) even(own, amount float64, hold bool) float64 {
	if amount <= 0 || math.IsNaN(amount) || math.IsInf(amount, 0) {
		return own
	}
	a := math.Log(amount)
	if w.n == 0 {
		w.meanAmount, w.meanOwn = a, own
	}
	da := min(max(a-w.meanAmount, -workClip), workClip)
	do := min(max(own-w.meanOwn, -workClip), workClip)
	if !hold {
		w.n = min(w.n+1, workSteps)
		k := 1 / w.n
		w.meanAmount += k * da
		w.meanOwn += k * do
		w.varAmount += k * (da*da - w.varAmount)
		w.covariance += k * (da*do - w.covariance)
	}
	if w.n < workWarm {
		return own
	}
	slope := w.covariance / (w.varAmount + workLeast*workLeast)
	return own - min(max(slope, 0), slopeMost)*(a-w.meanAmount)
}
