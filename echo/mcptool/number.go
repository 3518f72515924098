package mcptool

import (
	"fmt"
	"math"
)

// round rounds to some decimals: a model needs no more, and every digit costs tokens.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	switch r := math.Round(v*scale) / scale; {
	case r == 0:
		return 0 // instead of -0
	case !math.IsInf(r, 0) && !math.IsNaN(r):
		return r
	}
	return v
}

// counted returns a number with its noun, in the plural unless n is 1.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ms converts nanoseconds to milliseconds.
func ms(ns float64) float64 { return round(ns/1e6, 2) }

// percent converts a share to percent.
func percent(share float64) float64 { return round(share*100, 1) }

// significant rounds to some significant digits.
func significant(v float64, digits int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	return round(v, digits-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// ordinal returns 2nd, 14th and so on.
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
