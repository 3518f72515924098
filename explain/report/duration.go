package report

import (
	"strconv"
	"strings"
	"time"
)

// Duration formats a number of nanoseconds with three significant digits: 850 ns, 12.4 ms, 3.05 s.
func Duration(ns uint64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{" s", 1e9}, {" ms", 1e6}, {" us", 1e3}} {
		if v := float64(ns) / u.ns; v >= 0.9995 {
			return digits3(v) + u.name
		}
	}
	return strconv.FormatUint(ns, 10) + " ns"
}

// Number formats v for people: three significant digits, thousands separated, no exponent: 1,360,
// 23.6, 0.05.
func Number(v float64) string {
	if v >= 999.5 {
		return Count(uint64(v + 0.5))
	}
	return digits3(v)
}

// digits3 writes v with three significant digits and no trailing zeros.
func digits3(v float64) string {
	if v >= 999.5 {
		return Count(uint64(v + 0.5))
	}
	s := strconv.FormatFloat(v, 'g', 3, 64)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// FormatDuration formats a duration without trailing zero units: 5m, 1h30m.
func FormatDuration(d time.Duration) string {
	if d > 10*time.Second {
		d = d.Round(time.Second)
	} else {
		d = d.Round(10 * time.Millisecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Signed formats a duration with its sign, for differences.
func Signed(ns int64) string {
	if ns < 0 {
		return "-" + Duration(uint64(-ns))
	}
	return "+" + Duration(uint64(ns))
}
