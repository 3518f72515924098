package health

import "math"

// number is a type that medians are computed of.
type number interface {
	~float32 | ~float64 | ~uint64 | ~int32
}

// pick reorders s and returns its k-th smallest value, counted from 0.
func pick[T number](s []T, k int) T {
	lo, hi := 0, len(s)-1
	for lo < hi {
		p := s[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for s[i] < p {
				i++
			}
			for s[j] > p {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return s[k]
		}
	}
	return s[k]
}

// median reorders s and returns its median; if its length is even, the mean of the middle two.
func median(s []float64) float64 {
	k := len(s) / 2
	m := pick(s, k)
	if len(s)%2 == 1 {
		return m
	}
	below := s[0]
	for _, v := range s[:k] {
		below = max(below, v)
	}
	return (below + m) / 2
}

// middle reorders x, of at least two values, and returns its summary.
func middle(x []float32) Summary {
	k := len(x) / 2
	s := Summary{N: uint32(len(x)), Mid: pick(x, k)}
	s.Lo = x[0]
	for _, v := range x[:k] {
		s.Lo = max(s.Lo, v)
	}
	s.Hi = s.Mid
	if k+1 < len(x) {
		s.Hi = x[k+1]
		for _, v := range x[k+1:] {
			s.Hi = min(s.Hi, v)
		}
	}
	return s
}

// others returns the median of the summary's values without x, which is one of them. It is robust while less than
// half of the cohort is slow.
func (s Summary) others(x float32) float64 {
	lo, mid, hi := float64(s.Lo), float64(s.Mid), float64(s.Hi)
	switch {
	case s.N%2 == 0 && x <= s.Lo:
		return mid
	case s.N%2 == 0:
		return lo
	case x < s.Mid:
		return (mid + hi) / 2
	case x > s.Mid:
		return (lo + mid) / 2
	}
	return (lo + hi) / 2
}

func usable(x float32) bool { return x >= -valueMost && x <= valueMost }

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
