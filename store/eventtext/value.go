package eventtext

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// units are the suffixes of a duration, the longest spelling of a common ending
// first.
var units = []struct {
	name string
	ns   uint64
}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// parseDuration reads a decimal number with a unit; a bare 0 needs none. It is
// exact: no digit below a nanosecond is accepted.
func parseDuration(s string) (uint64, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range units {
		num, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		if v, ok := scale(num, u.ns); ok {
			return v, nil
		}
		break
	}
	return 0, fmt.Errorf("bad duration %q: want a number with ns, us, ms or s", s)
}

// scale multiplies a decimal number by unit, a power of ten.
func scale(num string, unit uint64) (uint64, bool) {
	whole, frac, _ := strings.Cut(num, ".")
	if whole == "" || !digits(whole) || !digits(frac) {
		return 0, false
	}
	w, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	hi, v := bits.Mul64(w, unit)
	if hi != 0 {
		return 0, false
	}
	for _, d := range frac {
		if unit /= 10; unit == 0 {
			return 0, false
		}
		add := uint64(d-'0') * unit
		if v > math.MaxUint64-add {
			return 0, false
		}
		v += add
	}
	return v, true
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// formatDuration is the shortest exact spelling that parseDuration reads back.
func formatDuration(ns uint64) string {
	if ns == 0 {
		return "0"
	}
	i := len(units) - 1
	for units[i].ns > ns {
		i--
	}
	u := units[i]
	s := strconv.FormatUint(ns/u.ns, 10)
	if rest := ns % u.ns; rest != 0 {
		width := len(strconv.FormatUint(u.ns, 10)) - 1
		s += "." + strings.TrimRight(fmt.Sprintf("%0*d", width, rest), "0")
	}
	return s + u.name
}

// quote makes a word of a name that may hold spaces or quotes.
func quote(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"\\#{}=:") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// words splits a line at spaces, keeping quoted parts (with Go's escapes)
// together and dropping a comment.
func words(line string) ([]string, error) {
	var r []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return r, nil
		}
		n := 0
		for n < len(line) && !strings.ContainsRune(" \t\r", rune(line[n])) {
			if line[n] != '"' {
				n++
				continue
			}
			q, err := strconv.QuotedPrefix(line[n:])
			if err != nil {
				return nil, fmt.Errorf("unfinished quote: %s", line[n:])
			}
			n += len(q)
		}
		r = append(r, line[:n])
		line = line[n:]
	}
}

// unquote reads a word that quote wrote.
func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	return strconv.Unquote(s)
}
