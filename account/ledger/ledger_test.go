package ledger_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store/eventtext"
)

func parse(t *testing.T, text string) *eventtext.Recording {
	t.Helper()
	r, err := eventtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func index(r *eventtext.Recording) *ledger.Index {
	var names []ledger.Known
	for _, n := range r.Threads {
		names = append(names, ledger.Known{Thread: n.Thread, Comm: n.Comm})
	}
	return ledger.NewIndex("amd64", r.OffCPU, r.ThreadTimes, names, r.Lives)
}

func TestSplitOfAddsUpToTheSpan(t *testing.T) {
	l := event.Ledger{}
	l.NS[event.RunQueue], l.NS[event.Futex] = 30, 50
	s := ledger.SplitOf(100, &l)
	if s.OnCPU != 20 || s.Of(event.Futex) != 50 || s.Largest() != event.Futex {
		t.Errorf("split of 100 = %+v", s)
	}
	if s := ledger.SplitOf(60, &l); s.OnCPU != 0 || s.NS[event.Futex] != 30 {
		t.Errorf("split of a span shorter than its ledger = %+v", s)
	}
}

func TestDiffAndSum(t *testing.T) {
	r := parse(t, `
thread a pid=1 tid=1
total +0 thread=a on_cpu=5ms futex=1ms
total +10ms thread=a on_cpu=12ms futex=4ms
total +20ms thread=a on_cpu=1ms
total +30ms thread=a on_cpu=3ms sleep=8ms`)
	d, ok := ledger.Diff(&r.ThreadTimes[0], &r.ThreadTimes[1])
	if !ok || d.OnCPU != 7e6 || d.NS[event.Futex] != 3e6 || d.Wall != 10e6 {
		t.Errorf("Diff = %+v, %v", d, ok)
	}
	if _, ok := ledger.Diff(&r.ThreadTimes[1], &r.ThreadTimes[2]); ok {
		t.Error("totals that began anew subtract")
	}
	if s := ledger.Sum(r.ThreadTimes); s.Wall != 20e6 || s.OnCPU != 9e6 {
		t.Errorf("Sum = %+v, want the two good pairs", s)
	}
}

const chainText = `
thread main pid=1 tid=1 comm=main dispatch
thread saver pid=1 tid=2 comm=saver
thread other pid=1 tid=3 comm=other
off +1ms thread=main dur=10ms class=futex runq=1ms futex=0x10 holder=saver
off +2ms thread=saver dur=8ms class=futex futex=0x20 waker=other waker_futex=0x20
off +3ms thread=other dur=6ms class=block_io inode=7
off +20ms thread=other dur=1ms class=sleep
off +20ms thread=saver dur=1ms class=sleep`

func TestFollowGoesToTheRoot(t *testing.T) {
	r := parse(t, chainText)
	chain := index(r).Follow(&r.OffCPU[0])
	type link struct {
		Comm  string
		Proof ledger.Proof
		Class event.Class
		NS    uint64
	}
	var got []link
	for _, l := range chain {
		c := l.Split.Largest()
		got = append(got, link{l.Comm, l.Proof, c, l.Split.Of(c)})
	}
	want := []link{
		{"main", ledger.ByItself, event.Futex, 9e6},
		{"saver", ledger.ByHolder, event.Futex, 8e6},
		{"other", ledger.ByFutex, event.BlockIO, 6e6},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("chain (-want +got):\n%s", d)
	}
}

func TestFollowCutsCycles(t *testing.T) {
	r := parse(t, `
off +0 thread=1/1 dur=10ms class=futex futex=0x10 holder=2
off +0 thread=1/2 dur=10ms class=futex futex=0x20 holder=1`)
	if n := len(index(r).Follow(&r.OffCPU[0])); n != 2 {
		t.Errorf("a deadlock gives %d links, want 2", n)
	}
}

func TestBehindNeedsProof(t *testing.T) {
	for name, tc := range map[string]struct {
		row  string
		want uint32
	}{
		"holder":                 {"class=futex futex=0x1 holder=2 waker=9/9 waker_futex=0x1", 2},
		"holder that is no task": {"class=futex futex=0x1 holder=777 waker=9/9 waker_futex=0x1", 9},
		"holder that ended":      {"class=futex futex=0x1 holder=5", 0},
		"holder is the waiter":   {"class=futex futex=0x1 holder=1", 0},
		"holder elsewhere":       {"class=futex futex=0x1 holder=8", 0},
		"timed out":              {"class=futex futex=0x1 waker=9/9", 0},
		"other futex":            {"class=futex futex=0x1 waker=9/9 waker_futex=0x2", 0},
		"requeued":               {"class=futex futex=0x1 waker=1/3 waker_futex=0x2", 3},
		"idle task":              {"class=pipe waker=0/0 waker_syscall=1", 0},
		"network interrupt":      {"class=network waker=9/9 waker_syscall=-1", 0},
		"interrupted bystander":  {"class=network waker=9/9 waker_syscall=202", 0},
		"peer that sent":         {"class=network waker=9/9 waker_syscall=44", 9},
		"softirq thread":         {"class=network waker=9/9 waker_comm=ksoftirqd/0 waker_syscall=1", 0},
		"pipe writer":            {"class=pipe waker=9/9 waker_syscall=1", 9},
		"sleeper":                {"class=sleep waker=9/9 waker_syscall=1", 0},
		"disk":                   {"class=block_io waker=9/9 waker_syscall=1", 0},
		"child that ended":       {"class=other syscall=61 waker=9/9 waker_syscall=231", 9},
		"file served":            {"class=other syscall=257 waker=9/9 waker_syscall=20", 9},
		"kernel thread":          {"class=other syscall=257 waker=9/9 waker_syscall=-1", 0},
		"no system call":         {"class=other waker=9/9 waker_syscall=1", 0},
		"frozen":                 {"class=other state=1 waker=9/9 waker_syscall=1", 9},
		"thread that ended":      {"class=futex futex=0x1 waker=1/3 waker_syscall=60", 3},
		"another process ended":  {"class=futex futex=0x1 waker=9/9 waker_syscall=60", 0},
		"device":                 {"class=ioctl syscall=16 state=1 waker=9/9 waker_syscall=16", 0},
		"lock of the driver's":   {"class=ioctl syscall=16 state=2 waker=9/9 waker_syscall=16", 9},
		"another call":           {"class=ioctl syscall=16 state=2 waker=9/9 waker_syscall=1", 0},
		"own driver":             {"class=ioctl syscall=16 state=2 waker=1/3 waker_syscall=16", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, "thread two pid=1 tid=2\nthread eight pid=8 tid=8\nlife +0 exit thread=1/5\noff +1ms thread=1/1 "+
				"dur=1ms "+tc.row)
			if got, _, _ := index(r).Behind(&r.OffCPU[0]); got != tc.want {
				t.Errorf("behind the wait is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestBetweenIsCheckedByTotals(t *testing.T) {
	// The intervals show 2 ms off CPU; the totals know of 5 ms more.
	r := parse(t, `
total +0 thread=1/1
off +1ms thread=1/1 dur=2ms class=block_io
total +10ms thread=1/1 on_cpu=3ms block_io=7ms`)
	s, ok := index(r).Between(1, r.Base, r.Base+10e6)
	if !ok || s.OnCPU != 3e6 || s.NS[event.BlockIO] != 7e6 {
		t.Errorf("Between = %+v, %v", s, ok)
	}
	if _, ok := index(r).Between(1, r.Base+5e9, r.Base+6e9); ok {
		t.Error("a span long after the last record is accounted for")
	}
	r.OffCPU[0].Followed, r.ThreadTimes = true, nil
	if _, ok := index(r).Between(1, r.Base, r.Base+2e6); ok {
		t.Error("a followed thread is accounted for before it woke anybody")
	}
	if _, ok := index(r).Between(2, r.Base, r.Base+1); ok {
		t.Error("a thread without records is accounted for")
	}
}

func TestRunnersOmitTheIdleTask(t *testing.T) {
	r := parse(t, `
off +0 thread=1/1 dur=10ms class=runq idle=2ms culprit=0/0/swapper:2ms culprit=7/7/b:3ms culprit=8/8/a:9ms
off +20ms thread=1/1 dur=3ms class=runq culprit=7/7/b:3ms`)
	var u ledger.Runners
	for i := range r.OffCPU {
		u.Add(&r.OffCPU[i])
	}
	if u.Queue != 13e6 || u.Idle != 2e6 || u.Named != 11e6 {
		t.Errorf("runners = %+v", u)
	}
	var got []string
	for _, c := range u.Ranked() {
		got = append(got, c.Comm)
	}
	if d := cmp.Diff([]string{"b", "a"}, got); d != "" {
		t.Errorf("ranking: %s", d)
	}
}

func TestEpisodesCountNestedCallsOnce(t *testing.T) {
	r := parse(t, `
thread main pid=1 tid=1 dispatch
call .+1us thread=main op=cuLaunchKernel depth=1 dur=8us
off .+2us thread=main dur=5us class=runq op=cudaLaunchKernel
call . thread=main op=cudaLaunchKernel dur=10us
off .+1us thread=main dur=200us class=futex
gap . thread=main dur=300us next=cudaFree futex=200us
call . thread=main op=cudaFree dur=1us
off .+1ms thread=main dur=150us class=poll runq=50us
off +0 thread=7/7 dur=1s class=sleep`)
	by := ledger.Episodes(r.Calls, r.Gaps, r.OffCPU)
	if len(by) != 1 {
		t.Fatalf("%d threads with episodes, want the dispatching one", len(by))
	}
	list := by[r.Calls[0].Thread]
	if len(list) != 4 {
		t.Fatalf("%d episodes, want a call, a gap, a call and a row by itself", len(list))
	}
	if len(list[0].Nested) != 1 || len(list[0].Rows) != 1 || len(list[1].Rows) != 1 {
		t.Errorf("call holds %d calls and %d rows, gap %d rows", len(list[0].Nested), len(list[0].Rows), len(list[1].Rows))
	}
	if l := list[3].Ledger; l.NS[event.Poll] != 100e3 || l.NS[event.RunQueue] != 50e3 {
		t.Errorf("ledger of the row by itself = %v", l.NS)
	}
}

func TestFollowIgnoresOrder(t *testing.T) {
	r := parse(t, chainText)
	first := r.OffCPU[0]
	want := index(r).Follow(&first)
	for range 20 {
		r.OffCPU = slices.Clone(r.OffCPU) // chains hold pointers into it
		rand.Shuffle(len(r.OffCPU), func(i, j int) { r.OffCPU[i], r.OffCPU[j] = r.OffCPU[j], r.OffCPU[i] })
		if d := cmp.Diff(want, index(r).Follow(&first)); d != "" {
			t.Fatalf("another order gives another chain:\n%s", d)
		}
	}
}

// A thread that waits again and again within one wait of another one is followed to whom it waited for most of that
// time, not to whom it waited for once for longest; if that is nobody, it is the end of the chain.
func TestFollowGoesToWhomItWaitedForMost(t *testing.T) {
	for name, tc := range map[string]struct {
		waits string
		last  uint32
		reach float64
	}{
		"once for longest": {`
off +0 thread=1/2 dur=3ms class=pipe syscall=0 waker=8/8 waker_syscall=1
off +3ms thread=1/2 dur=2ms class=pipe syscall=0 waker=9/9 waker_syscall=1
off +5ms thread=1/2 dur=2ms class=pipe syscall=0 waker=9/9 waker_syscall=1
off +7ms thread=1/2 dur=2ms class=pipe syscall=0 waker=9/9 waker_syscall=1`, 9, 0.6},
		"nobody": {`
off +0 thread=1/2 dur=3ms class=pipe syscall=0 waker=7/7 waker_syscall=1
off +3ms thread=1/2 dur=3ms class=pipe syscall=0 waker=8/8 waker_syscall=1
off +6ms thread=1/2 dur=3ms class=pipe syscall=0 waker=9/9 waker_syscall=1`, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := parse(t, "thread main pid=1 tid=1 comm=main dispatch\nthread two pid=1 tid=2\n"+
				"off +0 thread=1/1 dur=10ms class=pipe syscall=0 waker=1/2 waker_syscall=1"+tc.waits)
			chain := index(r).Follow(&r.OffCPU[0])
			if last := chain[len(chain)-1].Thread.TID; last != tc.last {
				t.Errorf("it ends at thread %d, want %d", last, tc.last)
			}
			if reach := float64(chain[1].Through) / float64(chain[1].Split.Wall); reach != tc.reach {
				t.Errorf("of the worker's time %v was for that thread, want %v", reach, tc.reach)
			}
		})
	}
}

// A lock that was held at the begin of a wait may have passed on: what its first holder did since is not what kept the
// waiter waiting.
func TestAHolderIsAccountedForUntilItLetsGo(t *testing.T) {
	r := parse(t, `
thread main pid=1 tid=1 comm=main dispatch
off +0 thread=1/1 dur=10ms class=futex futex=0x10 holder=2 waker=1/3 waker_futex=0x10
off +0 thread=1/2 dur=4ms class=block_io inode=7
off +4ms thread=1/2 dur=20ms class=sleep
off +1ms thread=1/3 dur=3ms class=futex futex=0x10 holder=2 waker=1/2 waker_futex=0x10
off +20ms thread=1/3 dur=1ms class=sleep`)
	chain := index(r).Follow(&r.OffCPU[0])
	if n := len(chain); n != 2 {
		t.Fatalf("%d links", n)
	}
	last := chain[1]
	if last.Thread.TID != 2 || last.To-last.From != 4e6 || last.Split.NS[event.BlockIO] != 4e6 ||
		last.Split.NS[event.Sleep] != 0 {
		t.Errorf("the holder is thread %d for %d ns: %+v", last.Thread.TID, last.To-last.From, last.Split)
	}
}
