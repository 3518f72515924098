package diagnose_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/eventtext"
)

// TestHealthyProgramIsHealthyInItsFirstSeconds: live diagnosis uses the same rules with less data, and
// must not report more.
func TestHealthyProgramIsHealthyInItsFirstSeconds(t *testing.T) {
	for _, name := range []string{
		"healthy", "control_decode_eager", "control_decode_thinned", "control_graph_waits_attached",
		"control_waits_unseen_launches", "control_launch_busy", "gpu_wait_uniform",
	} {
		all := read(t, filepath.Join("testdata", name+".txtar"))
		for _, d := range []time.Duration{
			100 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second,
			5 * time.Second,
		} {
			some := *all
			some.Calls = slices.DeleteFunc(slices.Clone(all.Calls), func(c event.Call) bool {
				return c.End() > all.Base+uint64(d)
			})
			for _, c := range diagnose.Diagnose(diagnosetest.InputOf(&some)).Chains {
				t.Errorf("%s after %s: %s %s", name, d, c.Severity, c.Summary)
			}
		}
	}
}

// without copies the elements that are not out: cases have 200,000.
func without[T any](list []T, out func(*T) bool) []T {
	n := 0
	for i := range list {
		if !out(&list[i]) {
			n++
		}
	}
	kept := make([]T, 0, n)
	for i := range list {
		if !out(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// lastSeconds returns the input of a live diagnosis at the time now.
func lastSeconds(all *eventtext.Recording, now uint64) *diagnose.Input {
	from := now - min(now, uint64(diagnose.LiveWindow))
	out := func(start, end uint64) bool { return start < from || end > now }
	some := *all
	some.Calls = without(all.Calls, func(c *event.Call) bool { return out(c.Start, c.End()) })
	some.Gaps = without(all.Gaps, func(g *event.Gap) bool { return out(g.Start, g.Start+g.Duration) })
	some.OffCPU = without(all.OffCPU, func(o *event.OffCPU) bool { return out(o.Start, o.Start+o.Duration) })
	some.ThreadTimes = without(all.ThreadTimes, func(r *event.ThreadTime) bool { return out(r.At, r.At) })
	in := diagnosetest.InputOf(&some)
	in.Live = true
	if len(in.Ops) > 0 {
		in.First = all.Base
		in.Window = store.Window{From: max(from, all.Base), To: now + 1}
	}
	return in
}

// If a cause was HIGH while the program ran and is not reported afterwards, one of the two reports
// is wrong. For a wait for the GPU, the reason may become known only later: the GPU's clock is read
// once a second.
func TestHighLiveFindingsAreAlsoReportedAfterwards(t *testing.T) {
	t.Parallel()
	const long = `process engine pid=100 parent=1 traced
thread main pid=100 tid=100 comm=engine dispatch
process backup-agent pid=4711
thread hog pid=4711 tid=4711 comm=backup-agent
repeat 3000 {
  call . thread=main op=cudaLaunchKernel dur=4us..6us
  call . thread=main op=cudaStreamSynchronize dur=9ms..10ms sleep=8ms vol=1
  skip thread=main dur=200us
}
repeat 250 {
  call . thread=main op=cudaLaunchKernel dur=4us..6us
  off . thread=main dur=4ms..5ms class=runq culprit=hog:4ms cpu=1 out_cpu=1
  gap . thread=main dur=5ms next=cudaStreamSynchronize runq=5ms invol=1
  call . thread=main op=cudaStreamSynchronize dur=9ms..10ms sleep=8ms vol=1
  skip thread=main dur=200us
}
repeat 6000 {
  call . thread=main op=cudaLaunchKernel dur=4us..6us
  call . thread=main op=cudaStreamSynchronize dur=9ms..10ms sleep=8ms vol=1
  skip thread=main dur=200us
}
`
	rec, err := eventtext.Parse(long)
	if err != nil {
		t.Fatal(err)
	}
	recordings := map[string]*eventtext.Recording{"a hog for four of 95 seconds": rec}
	reports := map[string]*report.Report{"a hog for four of 95 seconds": diagnose.Diagnose(diagnosetest.InputOf(rec))}
	for _, path := range cases(t) {
		recordings[path] = read(t, path)
		_, reports[path] = diagnosed(t, path)
	}
	high := 0
	for name, rec := range recordings {
		whole := reports[name]
		var end uint64
		for i := range rec.Calls {
			end = max(end, rec.Calls[i].End())
		}
		step := max(uint64(time.Second), (end-rec.Base)/20)
		for now := rec.Base + step; now < end+step; now += step {
			for _, c := range diagnose.Diagnose(lastSeconds(rec, now)).Chains {
				if c.Severity != "HIGH" {
					continue
				}
				high++
				kinds := []string{c.Cause.Kind}
				if kinds[0] == event.CauseGPUWait {
					kinds = append(kinds, event.CauseThermalThrottle, event.CauseGPUContention)
				}
				if !slices.ContainsFunc(whole.Chains, func(w report.Chain) bool {
					return slices.Contains(kinds, w.Cause.Kind) && w.Effect.PID == c.Effect.PID
				}) {
					t.Errorf("%s, after %s: reported live, but not afterwards: %s", name, time.Duration(now-rec.Base), c.Summary)
				}
			}
		}
	}
	if high < 20 {
		t.Errorf("only %d causes were HIGH live: this tests nothing", high)
	}
}
