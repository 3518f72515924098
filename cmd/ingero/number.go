package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

// duration formats a duration with three digits.
func duration(d time.Duration) string { return report.Duration(uint64(max(d, 0))) }

// size formats a number of bytes.
func size(n uint64) string { return report.Bytes(n) }

// parseSize parses a number of bytes such as 10g, 512MiB or 1000; units are powers of 1024.
func parseSize(s string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "b"), "i")
	shift := 0
	if n := len(t); n > 0 {
		if i := strings.IndexByte("kmgt", t[n-1]); i >= 0 {
			shift, t = 10*(i+1), t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	bytes := v * float64(uint64(1)<<shift)
	if err != nil || !(bytes >= 0 && bytes < 1<<62) {
		return 0, fmt.Errorf("invalid size %q: want for example 10g, 512m or 0 for no limit", s)
	}
	return int64(bytes), nil
}

// plural is "1 call", "2 calls".
func plural(n uint64, one string) string { return report.Plural(n, one) }
