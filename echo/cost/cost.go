// Package cost computes the cost of waiting: GPU-hours and money. It is pure. Rates come from an example in the
// program, or from the user's file; nothing is fetched.
package cost

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	FromNS, ToNS int64
	// LostMS is how much longer each step takes, of StepMS in total, in milliseconds. Ranks is how many ranks are
	// compared, including the slow one.
	LostMS, StepMS float64
	Ranks          int
}

// Waited returns the total time that the others waited, in nanoseconds; 0 if it is not known.
func (e Episode) Waited() float64 {
	if e.ToNS <= e.FromNS || e.Ranks < 2 || !(e.StepMS > 0) || !(e.LostMS > 0) {
		return 0
	}
	return float64(e.ToNS-e.FromNS) * min(1, e.LostMS/e.StepMS) * float64(e.Ranks-1)
}
