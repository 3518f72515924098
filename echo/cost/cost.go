// Package cost computes the cost of waiting: GPU-hours and money. It is pure. Rates come from an example in the
// program, or from the user's file; nothing is fetched.
package cost

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

//go:embed rates.json
var example []byte

// Example returns the rates that are part of the program: round numbers, which nobody pays exactly.
func Example() Rates {
	r, err := Parse(example)
	if err != nil { // a test parses it
		panic(err)
	}
	return r
}

// Rates are prices of GPU-hours.
type Rates struct {
	// Source says where the rates are from, Date when they were valid, as YYYY-MM-DD.
	Source   string `json:"source"`
	Date     string `json:"date"`
	Currency string `json:"currency"` // such as USD
	// Default is the rate of a GPU whose model is not known or not in the list.
	Default float64 `json:"default_per_gpu_hour"`
	List    []Rate  `json:"rates"`
}

// Rate is the price of an hour of a GPU model.
type Rate struct {
	// GPU is a part of the model's name, such as H100, in upper or lower case.
	GPU     string  `json:"gpu"`
	PerHour float64 `json:"per_gpu_hour"`
}

// Limits of a file of rates.
const (
	MaxFile  = 64 << 10 // bytes
	maxRates = 200
	maxText  = 200 // bytes per text
	maxPrice = 1e6
)

// Parse parses a file of rates.
func Parse(file []byte) (Rates, error) {
	var r Rates
	if len(file) > MaxFile {
		return r, fmt.Errorf("the rates have %d bytes; at most %d are allowed", len(file), MaxFile)
	}
	if err := json.Unmarshal(file, &r); err != nil {
		return r, fmt.Errorf("read the rates: %w", err)
	}
	switch {
	case r.Source == "" || r.Date == "" || r.Currency == "":
		return r, errors.New("the rates need source, date and currency: each answer names them")
	case len(r.Source) > maxText || len(r.Date) > maxText || len(r.Currency) > maxText:
		return r, fmt.Errorf("source, date and currency may have %d bytes each", maxText)
	case !price(r.Default) || r.Default == 0:
		return r, errors.New("the rates need default_per_gpu_hour, above 0")
	case len(r.List) > maxRates:
		return r, fmt.Errorf("there are %d rates; at most %d are allowed", len(r.List), maxRates)
	}
	for _, one := range r.List {
		if one.GPU == "" || len(one.GPU) > maxText || !price(one.PerHour) {
			return r, fmt.Errorf("the rate of the GPU %q is invalid: %v", one.GPU, one.PerHour)
		}
	}
	return r, nil
}

func price(v float64) bool { return v >= 0 && v <= maxPrice }

// Of returns the rate of a GPU model, and whether it is in the list. If several names match, the longest counts, so
// that GH200 is not taken for H200 if both are listed.
func (r Rates) Of(model string) (Rate, bool) {
	var best Rate
	name := strings.ToLower(model)
	for _, one := range r.List {
		if strings.Contains(name, strings.ToLower(one.GPU)) && len(one.GPU) > len(best.GPU) {
			best = one
		}
	}
	if best.GPU == "" {
		return Rate{GPU: "default", PerHour: r.Default}, false
	}
	return best, true
}

const nsPerHour = 3600e9

// Waste is the cost of waiting.
type Waste struct {
	GPUHours float64
	Money    float64
}

// Waited returns the waste of ranks that waited for ns nanoseconds in total. A rank has one GPU.
func Waited(ns float64, perHour float64) Waste {
	if !(ns > 0) || math.IsInf(ns, 1) {
		return Waste{}
	}
	h := ns / nsPerHour
	return Waste{GPUHours: h, Money: h * perHour}
}

// Episode is a time in which a rank was slow, as its agent reported it.
type Episode struct {
	Rank         int // any number that the episodes of a rank have in common
	FromNS, ToNS int64
	// LostMS is how much longer each step takes, of StepMS in total, in milliseconds. Ranks is how many ranks are
	// compared, including the slow one.
	LostMS, StepMS float64
	Ranks          int
}

// Known reports whether the cost of an episode can be computed.
func (e *Episode) Known() bool {
	return e.ToNS > e.FromNS && e.Ranks >= 2 && e.StepMS > 0 && e.LostMS > 0
}

// Loss is what a slow rank took of its job.
type Loss struct {
	// LostNS is how long it delayed the job, WaitedNS the sum of the other ranks' waits, in nanoseconds.
	LostNS, WaitedNS float64
}

// Losses returns the losses by the episodes of a job's ranks. If several ranks are slow at a time, the slowest one
// delays the job, and those that are not slow wait for it. An episode that is not Known has no loss.
func Losses(list []Episode) []Loss {
	type change struct {
		at      int64
		episode int
	}
	out := make([]Loss, len(list))
	var changes []change
	for i := range list {
		if e := &list[i]; e.Known() {
			changes = append(changes, change{e.FromNS, i}, change{e.ToNS, i})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	open := map[int]bool{}
	for i, c := range changes {
		if n := c.at - changes[max(0, i-1)].at; n > 0 && len(open) > 0 {
			slowest, waiting := most(list, open)
			lost := float64(n) * list[slowest].share()
			out[slowest].LostNS += lost
			out[slowest].WaitedNS += lost * float64(waiting)
		}
		if open[c.episode] {
			delete(open, c.episode)
		} else {
			open[c.episode] = true
		}
	}
	return out
}

// share is the share of the time that is lost.
func (e *Episode) share() float64 { return min(1, e.LostMS/e.StepMS) }

// most returns the episode that costs most of some, and how many ranks wait for it. Of several that cost as much, it is
// the one of most ranks, and then the first one.
func most(list []Episode, of map[int]bool) (slowest, waiting int) {
	slow := map[int]bool{}
	slowest = -1
	for i := range of {
		slow[list[i].Rank] = true
		if slowest < 0 || cmp.Or(cmp.Compare(list[slowest].share(), list[i].share()),
			cmp.Compare(list[slowest].Ranks, list[i].Ranks), cmp.Compare(i, slowest)) < 0 {
			slowest = i
		}
	}
	return slowest, max(0, list[slowest].Ranks-len(slow))
}
