package mcptool

import (
	"fmt"
	"math"
)

// round is a number with some digits behind the point: a model does not need more, and pays for them.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	switch r := math.Round(v*scale) / scale; {
	case r == 0:
		return 0 // not -0
	case !math.IsInf(r, 0) && !math.IsNaN(r):
		return r
	}
	return v
}

// counted is a number of things: one without an s.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ms is nanoseconds in milliseconds.
func ms(ns float64) float64 { return round(ns/1e6, 2) }

// percent is a share.
func percent(share float64) float64 { return round(share*100, 1) }

// significant is a number with so many digits, wherever its point is.
func significant(v float64, digits int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	return round(v, digits-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// ordinal is a number's: 2nd, 14th.
func ordinal(n int64) string {
	end := "th"
	if n/10%10 != 1 {
		end = map[int64]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	}
	if end == "" {
		end = "th"
	}
	return fmt.Sprint(n, end)
}
