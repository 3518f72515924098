package lanes

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// total adds up the buckets of a lane by key.
func total(buckets [][]Part) map[Key]Part {
	out := map[Key]Part{}
	for _, b := range buckets {
		for _, p := range b {
			out[p.Key] = Part{p.Key, out[p.Key].NS + p.NS, out[p.Key].N + p.N}
		}
	}
	return out
}

// TestSumsStayExactWhenBucketsBecomeWider puts spans from nanoseconds to a tenth of a second into sets
// with few cells. Sums stay exact, and there are never more cells than allowed.
func TestSumsStayExactWhenBucketsBecomeWider(t *testing.T) {
	const from = uint64(1_735_689_600_123_456_789)
	for _, limit := range []int{10, 100, 1000, 100_000} {
		rng := rand.New(rand.NewPCG(1, uint64(limit)))
		s := newSet(firstShift, limit)
		id := ID{0, event.Thread{PID: 1, TID: 2}}
		want := map[Key]Part{}
		at, shared := from, uint64(0)
		for range 3000 {
			key := Key(1 + rng.IntN(3))
			if rng.IntN(3) == 0 {
				key = Waiting(event.Class(rng.IntN(3)))
			}
			x := Span{
				Start: at, Duration: rng.Uint64N(1 << rng.IntN(28)), Weight: 1 + uint32(rng.IntN(3)), Key: key,
				Depth: uint8(rng.IntN(8) / 7),
			}
			if x.NS = x.Duration * uint64(x.Weight); x.Weight > 1 {
				x.NS = x.Duration + rng.Uint64N(3*x.Duration+1)
			}
			s.row(0, at, x.Weight-1, true)
			shared += uint64(x.Weight - 1)
			s.add(id, x)
			if s.size > limit {
				t.Fatalf("%d cells, %d are allowed", s.size, limit)
			}
			if x.Depth == 0 {
				want[key] = Part{key, want[key].NS + x.NS, want[key].N + uint64(x.Weight)}
				at += x.Duration
			}
			at += rng.Uint64N(1 << rng.IntN(20))
		}
		p := &Pyramid{settled: stretch{s, newSet(firstShift, limit)}, fresh: newStretch(firstShift, firstShift, limit)}
		for _, up := range []uint8{0, 1, 7} {
			shift := p.Shift() + up
			first := from >> shift << shift
			got := total(p.Buckets(id, first, shift, int((at-first)>>shift)+1))
			if len(got) != len(want) {
				t.Errorf("limit %d: keys %v, want %v", limit, got, want)
			}
			for k, w := range want {
				if got[k] != w {
					t.Errorf("limit %d, buckets of 2^%d: %+v, want %+v", limit, shift, got[k], w)
				}
			}
		}
		if n := p.Rows(from, at); n != 3000 {
			t.Errorf("limit %d: %d rows", limit, n)
		}
		if n, unknown := p.Shared(from, at); n != shared || unknown != 0 {
			t.Errorf("limit %d: %d calls share a row, want %d, %d unknown", limit, n, shared, unknown)
		}
	}
}

// TestLongSpansAreFoundWithoutReading has calls that began long before a window.
func TestLongSpansAreFoundWithoutReading(t *testing.T) {
	s := newStretch(firstShift, firstShift, maxCells)
	p := &Pyramid{settled: s, fresh: newStretch(firstShift, firstShift, maxCells)}
	id := ID{0, event.Thread{PID: 1, TID: 2}}
	hour := uint64(time.Hour)
	long := Span{Start: hour, Duration: hour, NS: hour, Weight: 1, Key: 1, Depth: 2}
	s.calls.add(id, long)
	s.calls.add(id, Span{Start: 3*hour - 100, Duration: 200, NS: 200, Weight: 1, Key: 1})
	for at, want := range map[uint64]int{
		hour: 0, hour + p.Reach(): 0, hour + p.Reach() + 1: 1, 2*hour - 1: 1, 2 * hour: 0,
		3 * hour: 0,
	} {
		if got := p.Before(id, at); len(got) != want || want == 1 && got[0] != long {
			t.Errorf("at %d: %+v", at, got)
		}
	}
	if d := p.Depth(id); d != 2 {
		t.Errorf("depth %d", d)
	}
	if d := p.Depth(ID{}); d != -1 {
		t.Errorf("depth %d of a thread that made no calls", d)
	}
}

// TestCacheFollowsTheRecording asks again after nothing changed, after more was written,
// and of another recording in the same place.
func TestCacheFollowsTheRecording(t *testing.T) {
	var c Cache
	dir := t.TempDir()
	ask := func(file, state string) (*Pyramid, uint64) {
		t.Helper()
		r, err := sqlite.Open(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		sum, err := r.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var p *Pyramid
		for p == nil || p.Read() != 0 {
			if err := c.Use(t.Context(), state, &sum, r, func(used *Pyramid, _ []store.Reader) error {
				p = used
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		return p, p.Rows(0, never)
	}
	build := func(file string, l storetest.Load) {
		t.Helper()
		l.Waits = true
		if err := storetest.Build(filepath.Join(dir, file), l,
			sqlite.Options{RawRate: 1 << 20, Session: store.Session{Started: max(l.Start, 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	build("a", storetest.Load{Calls: 2000})
	first, n := ask("a", "1")
	if again, m := ask("a", "1"); again != first || m != n {
		t.Error("what did not change was read anew")
	}
	build("a", storetest.Load{Calls: 3000, Start: storetest.DefaultStart + uint64(time.Hour)})
	if more, m := ask("a", "2"); more != first || m < n+3000 {
		t.Errorf("%d rows, %d before 3000 calls more", m, n)
	}
	build("b", storetest.Load{Calls: 500, Start: 2 * storetest.DefaultStart})
	if other, m := ask("b", "3"); other == first || m < 500 || m > 1000 {
		t.Errorf("another recording has %d rows", m)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	sum := store.Summary{}
	if err := c.Use(gone, "", &sum, nil, nil); err == nil {
		t.Error("who has left is answered")
	}
}
