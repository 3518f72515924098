package diagnose_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/eventtext"
	"github.com/ingero-io/ingero/store/sqlite"
)

// checkSpent asserts that no time of a thread is attributed twice. All findings, reported or not,
// and the unexplained time fit into the thread's time; those of one call into the call; those of an
// operation into its calls. Time in which the GPU was busy is not also time in which it is said to
// have been idle.
func checkSpent(t *testing.T, name string, in *diagnose.Input) (findings int) {
	t.Helper()
	for _, s := range diagnose.Spend(in) {
		var sum uint64
		for _, v := range s.Lost {
			sum += v
			findings++
		}
		if sum > s.Wall {
			t.Errorf("%s: thread %d gave away %d ns of %d: %v", name, s.TID, sum, s.Wall, s.Lost)
		}
		if s.Episode > 0 || s.Op > 0 {
			t.Errorf("%s: thread %d: %d episodes and %d operations gave away more than they took: %v",
				name, s.TID, s.Episode, s.Op, s.Lost)
		}
		if s.GPUIdle+s.GPUBusy > s.Wall {
			t.Errorf("%s: thread %d: the GPU is busy for %d ns and idle for %d of %d", name, s.TID, s.GPUBusy, s.GPUIdle, s.Wall)
		}
	}
	r := diagnose.Diagnose(in)
	checkSums(t, name, in, r)
	pct := map[event.Thread]float64{}
	for _, c := range r.Chains {
		if c.Cause.Kind != event.CauseHang {
			pct[event.Thread{PID: c.Effect.PID, TID: c.Effect.TID}] += c.LostPct
		}
	}
	for _, n := range r.NotExplained {
		pct[event.Thread{PID: n.Effect.PID, TID: n.Effect.TID}] += n.LostPct
	}
	for _, i := range r.Idle {
		pct[event.Thread{PID: i.PID, TID: i.TID}] += i.Pct
	}
	for th, v := range pct {
		if v > 100+0.1*float64(len(r.Chains)+len(r.NotExplained)+1) { // each is rounded
			t.Errorf("%s: the shares of thread %d add up to %.1f %%", name, th.TID, v)
		}
	}
	return findings
}

func TestTimeIsAttributedOnceInCases(t *testing.T) {
	t.Parallel()
	for _, path := range cases(t) {
		checkSpent(t, path, input(t, path))
	}
}

func TestTimeIsAttributedOnceInKeptRecordings(t *testing.T) {
	paths, err := filepath.Glob("../../investigations/*.db")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings are kept")
	}
	for _, path := range paths {
		r, err := sqlite.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		in, err := diagnose.Load(t.Context(), r, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		checkSpent(t, path, in)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// trait describes how a random program behaves.
type trait struct {
	name  string
	calls []string // outermost operations; one that is listed twice is called twice as often
	short uint64   // ns, the usual duration of a call
	wait  float64  // share of the calls and gaps with a wait
	long  uint64   // ns, the longest wait
	gap   uint64   // ns, the longest time on a CPU between calls
	late  float64  // share of the waits for the GPU that take up to 50 times as long
	grows bool     // calls take longer and longer
	times uint32   // number of successive calls without waits that are one row; 0 means 1
}

var traits = []trait{
	{
		name:  "launches",
		calls: []string{"cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel", "cudaStreamSynchronize"},
		short: 8e3, wait: 0.01, long: 3e6, gap: 2e3, late: 0.02,
	},
	{
		name: "bound by launching", calls: []string{"cudaLaunchKernel"},
		short: 6e3, wait: 0.001, long: 1e6, gap: 1e3,
	},
	{
		name: "many launches", calls: []string{"cudaLaunchKernel"},
		short: 9e3, wait: 0.01, long: 2e6, gap: 1e3, times: 100,
	},
	{
		name:  "launches, then waits",
		calls: []string{"cudaLaunchKernel", "cudaLaunchKernel", "cudaStreamSynchronize", "cudaDeviceSynchronize"},
		short: 6e3, wait: 0.01, long: 1e6, gap: 500, late: 0.2,
	},
	{
		name: "short waits", calls: []string{"cudaStreamSynchronize", "cudaMemcpy", "cudaLaunchKernel", "cudaLaunchKernel"},
		short: 30e3, wait: 0.02, long: 10e6, gap: 5e3, late: 0.05,
	},
	{
		name: "growing waits", calls: []string{"cudaLaunchKernel", "cudaStreamSynchronize"},
		short: 100e3, wait: 0.01, long: 1e6, gap: 20e3, grows: true,
	},
	{
		name: "copies", calls: []string{"cudaMemcpyAsync", "cudaMemcpy", "cudaLaunchKernel", "cudaEventSynchronize"},
		short: 300e3, wait: 0.1, long: 20e6, gap: 100e3, late: 0.1,
	},
	{
		name: "allocations", calls: []string{"cudaMalloc", "cudaFree", "cudaLaunchKernel", "cudaStreamSynchronize"},
		short: 150e3, wait: 0.05, long: 10e6, gap: 10e3, late: 0.1,
	},
	{
		name: "graphs", calls: []string{
			"cudaGraphLaunch", "cudaGraphLaunch", "cudaStreamSynchronize", "cudaGraphInstantiate",
			"cudaStreamBeginCapture", "cudaStreamEndCapture",
		},
		short: 40e3, wait: 0.02, long: 5e6, gap: 10e3, late: 0.05,
	},
	{
		name: "host waits", calls: []string{"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync"},
		short: 50e3, wait: 0.5, long: 100e6, gap: 1e6, late: 0.05,
	},
}

// program makes a recording of some threads whose calls, gaps and waits follow each other as on a
// real machine: within a thread only calls overlap with the calls that they make.
func program(r *rand.Rand, tr *trait) *eventtext.Recording {
	const base = 1_700_000_000_000_000_000
	rec := &eventtext.Recording{Base: base}
	threads, second := 1+r.IntN(3), &traits[r.IntN(len(traits))]
	for i := range threads {
		p := &walker{
			Rand: r, trait: tr, rec: rec, thread: event.Thread{PID: 100 + uint32(i/2), TID: 100 + uint32(i)},
			at: base + r.Uint64N(1e9),
		}
		for n := 300 + r.IntN(2500); n > 0; n-- {
			p.step(float64(n))
		}
		if r.IntN(2) == 0 { // another phase
			p.trait, p.steps = second, 0
			for n := 300 + r.IntN(1000); n > 0; n-- {
				p.step(float64(n))
			}
		}
	}
	return rec
}

type walker struct {
	*rand.Rand
	*trait
	rec    *eventtext.Recording
	thread event.Thread
	at     uint64
	steps  float64
}

func (w *walker) step(left float64) {
	w.steps = max(w.steps, left)
	info, ok := event.ByName(w.calls[w.IntN(len(w.calls))])
	if !ok {
		panic("no such operation")
	}
	begin := w.at
	ledger := w.waits(1+w.Uint64N(w.gap), 0)
	if !ledger.IsZero() {
		w.rec.Gaps = append(w.rec.Gaps,
			event.Gap{Start: begin, Duration: w.at - begin, Thread: w.thread, Next: info.Op, Ledger: ledger})
	}
	c := event.Call{Start: w.at, Thread: w.thread, Op: info.Op, GPU: event.NoGPU}
	busy := w.short/2 + w.Uint64N(w.short)
	if info.Role == event.RoleSync && w.Float64() < w.late {
		busy *= 2 + w.Uint64N(48)
	}
	if w.grows {
		busy = uint64(float64(busy) * (1 + 4*(w.steps-left)/w.steps))
	}
	c.Ledger = w.waits(busy, info.Op)
	c.Duration = w.at - c.Start
	if i := info.BytesArg(); i >= 0 {
		c.Args[i] = 1 + w.Uint64N(1<<22)
	}
	if c.Ledger.IsZero() {
		c.Weight = max(w.times, 1)
		w.at += uint64(c.Weight-1) * c.Duration
	}
	w.rec.Calls = append(w.rec.Calls, c)
	if driver, ok := event.ByName("cuLaunchKernel"); ok && info.Role == event.RoleLaunch && w.IntN(2) == 0 &&
		c.Duration > 200 {
		c.Start, c.Duration, c.Op, c.Depth, c.Ledger = c.Start+100, c.Duration-200, driver.Op, 1, event.Ledger{}
		w.rec.Calls = append(w.rec.Calls, c)
	}
}

// waits lets some time pass on a CPU and, now and then, in a wait.
func (w *walker) waits(busy uint64, op event.Op) (l event.Ledger) {
	w.at += busy / 2
	for w.Float64() < w.wait {
		o := event.OffCPU{
			Start: w.at, Duration: 1e3 + w.Uint64N(w.long), Thread: w.thread, Op: op,
			Class: event.Class(w.IntN(int(event.NumClasses))),
			State: 1, Syscall: -1, Dispatch: true,
		}
		switch w.IntN(4) {
		case 0:
			o.RunQueue = w.Uint64N(o.Duration)
		case 1:
			o.Waker = event.Thread{PID: w.thread.PID, TID: 100 + uint32(w.IntN(4))}
		}
		if o.Class == event.RunQueue {
			o.RunQueue, o.State = o.Duration, 0
			o.Culprits = []event.Culprit{{Thread: event.Thread{PID: 900, TID: 900}, Comm: "hog", NS: w.Uint64N(o.Duration)}}
		}
		queue := o.RunQueue
		l.NS[o.Class] += o.Duration - queue
		l.NS[event.RunQueue] += queue
		l.Voluntary++
		w.at += o.Duration
		if o.Duration >= uint64(store.NotableWait) {
			w.rec.OffCPU = append(w.rec.OffCPU, o)
		}
	}
	w.at += busy - busy/2
	return l
}

func TestTimeIsAttributedOnceInRandomRecordings(t *testing.T) {
	t.Parallel()
	const seeds = 15
	for i := range traits {
		findings := 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			in := diagnosetest.InputOf(program(r, &traits[i]))
			if seed%3 == 1 { // in a thinned recording, single calls are missing
				in.Calls = in.Calls[:len(in.Calls)/2]
			}
			if seed%3 == 2 { // a window cuts calls and gaps
				in.Window.From = in.Ops[0].First + (in.Ops[0].Last-in.Ops[0].First)/3
			}
			findings += checkSpent(t, fmt.Sprintf("%s, seed %d", traits[i].name, seed), in)
		}
		if findings == 0 {
			t.Errorf("%s: nothing was found in %d recordings", traits[i].name, seeds)
		}
	}
}
