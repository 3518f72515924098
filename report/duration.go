package report

import "strconv"

// Duration words a number of nanoseconds with three significant digits: 850 ns,
// 12.4 ms, 3.05 s.
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

// digits3 writes v with three significant digits and no trailing zeros.
func digits3(v float64) string {
	if v >= 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'g', 3, 64)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
