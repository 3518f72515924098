package ownwork

import (
	"math/rand/v2"
	"testing"
)

// slowPeriod is a simple implementation of finder.period.
func slowPeriod(signs []uint32, least int) uint32 {
	for length := len(signs); length >= least; length-- {
		s := signs[len(signs)-length:]
		for k := 1; rounds*k <= length; k++ {
			repeats := true
			for i := k; i < length && repeats; i++ {
				repeats = s[i] == s[i-k]
			}
			if repeats {
				return uint32(k)
			}
		}
	}
	return 0
}

func TestPeriodIsThatOfTheLongestStretchThatRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var f finder
	found := map[uint32]int{}
	for range 3000 {
		m := &communicator{}
		m.reset(1 + r.Uint32N(100))
		var signs []uint32
		for range 1 + r.IntN(4) { // phases, each with a pattern
			pattern := make([]uint32, 1+r.IntN(7))
			for i := range pattern {
				pattern[i] = r.Uint32N(3)
			}
			for i := range r.IntN(60) {
				signs = append(signs, pattern[i%len(pattern)])
			}
		}
		for _, s := range signs {
			m.put(op{at: 1, sign: s})
		}
		if len(signs) == 0 {
			continue
		}
		least := 4 + r.IntN(30)
		got, want := f.period(m, m.last, ^uint32(0), uint32(least)), slowPeriod(signs, least)
		if got != want {
			t.Fatalf("%v, at least %d: %d; want %d", signs, least, got, want)
		}
		found[got]++
	}
	if len(found) < 5 || found[0] == 0 {
		t.Errorf("periods were %v", found)
	}
}

// The ring keeps the last operations, also when their numbers begin late and some are missing.
func TestRingKeepsTheLastOperations(t *testing.T) {
	m := &communicator{every: 3}
	m.born = 1
	m.reset(1000)
	for seq := uint32(1000); seq < 1000+3*maxOps; seq++ {
		m.put(op{at: uint64(seq), sign: seq % 3})
	}
	if m.length() != maxOps || len(m.ops) != maxOps || m.first != 1000+2*maxOps || m.matched < 2*maxOps {
		t.Errorf("%d operations from %d on, %d match", m.length(), m.first, m.matched)
	}
	for seq := m.first; seq <= m.last; seq++ {
		if m.op(seq).at != uint64(seq) {
			t.Fatalf("operation %d is %d", seq, m.op(seq).at)
		}
	}
}
