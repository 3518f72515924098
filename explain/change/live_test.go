package change_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

const start = 1_700_000_000 * second

// player plays steps to a Live, and asks for changes each second.
type player struct {
	live               *change.Live
	thread             event.Thread
	launch, sync, copy event.Op
	rng                *rand.Rand
	at, asked          uint64
	told               []report.Change
	toldAt             []uint64
}

func newPlayer(t *testing.T, seed uint64) *player {
	p := &player{
		live: change.NewLive(), thread: event.Thread{PID: 10, TID: 11}, launch: opNamed(t, "cudaLaunchKernel"),
		sync: opNamed(t, "cudaStreamSynchronize"), copy: opNamed(t, "cudaMemcpyAsync"),
		rng: rand.New(rand.NewPCG(seed, 1)), at: start, asked: start,
	}
	p.live.Batch(&store.Batch{Tables: store.Tables{Processes: []store.Process{{PID: 10, Name: "trainer", Traced: true}}}})
	return p
}

// play makes steps of so many waits for so many seconds; between ns are lost to a class between calls.
func (p *player) play(seconds float64, waits int, between uint64, class event.Class) {
	for end := p.at + uint64(seconds*float64(second)); p.at < end; {
		b := &store.Batch{}
		call := func(op event.Op, ns uint64) {
			b.Calls = append(b.Calls, event.Call{Start: p.at, Duration: ns, Thread: p.thread, Op: op})
			p.at += ns + 1000
		}
		for range 10 {
			call(p.launch, 5000)
		}
		for range waits {
			call(p.sync, uint64(8e6*(1+0.05*p.rng.NormFloat64())))
		}
		call(p.copy, 20_000)
		if between > 0 {
			g := event.Gap{Start: p.at, Duration: between, Thread: p.thread}
			g.Ledger.NS[class] = between
			b.Gaps = append(b.Gaps, g)
			p.at += between
		}
		p.live.Batch(b)
		for p.asked+second <= p.at {
			p.asked += second
			for _, c := range p.live.Changes(p.asked) {
				p.told, p.toldAt = append(p.told, c), append(p.toldAt, p.asked)
			}
		}
	}
}

func TestAChangeIsToldOnceWithinTenSeconds(t *testing.T) {
	p := newPlayer(t, 1)
	p.play(30, 1, 0, 0)
	at := p.at
	p.play(200, 4, 0, 0)
	if len(p.told) != 1 {
		t.Fatalf("%+v", p.told)
	}
	c := p.told[0]
	told := strings.Contains(c.Summary, "trainer: from ") &&
		strings.Contains(c.Summary, " instead of 1 cudaStreamSynchronize")
	if p.toldAt[0] > at+10*second || c.AtNS+second < at || c.AtNS > at+second || c.Kind != report.ChangeLevel || !told {
		t.Errorf("told %.1f s after it: %s", float64(p.toldAt[0]-at)/1e9, c.Summary)
	}
	first := c.AtNS
	at = p.at
	p.play(60, 8, 0, 0)
	if len(p.told) != 2 || p.told[1].AtNS < first+sec(100) || p.toldAt[1] > at+10*second {
		t.Errorf("a second change: %+v", p.told)
	}
}

func sec(n uint64) uint64 { return n * second }

func TestASlowTimeIsToldAgainWhenItIsOver(t *testing.T) {
	p := newPlayer(t, 2)
	p.play(30, 1, 0, 0)
	p.play(9, 1, 9_000_000, event.BlockIO)
	p.play(100, 1, 0, 0)
	var kinds []string
	for _, c := range p.told {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, []string{report.ChangeLevel, report.ChangeOnce}) {
		t.Errorf("%+v", p.told)
	}
}

// Nothing is reported for warm-up, alternating phases, fewer requests, a pause or noise.
func TestNothingIsToldOfWhatIsNoChange(t *testing.T) {
	for name, play := range map[string]func(*player){
		"steady":   func(p *player) { p.play(300, 1, 0, 0) },
		"warm-up":  func(p *player) { p.play(20, 3, 0, 0); p.play(100, 1, 0, 0) },
		"requests": func(p *player) { p.play(30, 1, 0, 0); p.play(60, 1, 20_000_000, event.Network) },
		"pause":    func(p *player) { p.play(30, 1, 0, 0); p.at += sec(40); p.play(60, 1, 0, 0) },
		"faster":   func(p *player) { p.play(30, 2, 0, 0); p.play(60, 1, 0, 0) },
	} {
		p := newPlayer(t, 3)
		if play(p); len(p.told) > 0 {
			t.Errorf("%s: %+v", name, p.told)
		}
	}
}

// The state of a run does not grow with its length, nor with the number of threads.
func TestLiveIsBounded(t *testing.T) {
	l := change.NewLive()
	launch := opNamed(t, "cudaLaunchKernel")
	for i := range uint64(300) {
		b := &store.Batch{}
		for tid := range uint32(100) {
			b.Calls = append(b.Calls, event.Call{
				Start: start + i*second, Duration: 1000, Thread: event.Thread{PID: 1, TID: 1 + tid}, Op: launch,
			})
		}
		l.Batch(b)
		l.Changes(start + i*second)
	}
	if threads, seconds := change.Kept(l); threads > 32 || seconds > 32*120 {
		t.Errorf("%d threads, %d seconds", threads, seconds)
	}
}
