package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the outcome.
type Report struct {
	Minutes float64        `json:"minutes"`
	WarmUp  float64        `json:"warm_up_minutes"`
	Rows    []Row          `json:"rows"`
	Churn   map[string]int `json:"churn"`   // rounds, by kind
	Skipped []string       `json:"skipped"` // kinds that cannot be done here
	Excused map[string]int `json:"excused"` // seconds that were not judged, by why
	Pass    bool           `json:"pass"`
}

// Bounds of numbers, with reasons in DESIGN.md.
const (
	mostRSS    = 200 // MiB
	mostEnding = 10  // s

	leastJudged = 0.2 // share of the seconds
)

// report ends the steady program and the tracer, reads the recording, and judges.
func (w *world) report(o Options, start sample, end ending, samples []sample) (*Report, error) {
	if err := w.steady.stop(); err != nil {
		w.note(&w.harmed, "%v", err)
	}
	const flush = 3 * time.Second
	time.Sleep(flush) // what it called last is recorded, and not cut by the end
	end.exited, end.err = w.tracer.stop()
	if end.err != nil {
		w.note(&w.ended, "at its end, as it was asked to: %v", end.err)
	}
	has, err := w.recorded()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := compareSeconds(w.steady.counted(), has, w.spans)
	warm := warmUp(o.Length)
	r := &Report{
		Minutes: o.Length.Minutes(), WarmUp: warm.Minutes(), Rows: slopes(samples, warm.Minutes(), fillsFor(o.Length)),
		Churn: w.rounds.done, Skipped: append([]string{}, w.skipped...), Excused: map[string]int{},
	}
	for _, s := range w.spans {
		r.Excused[s.why] += int(s.to - s.from)
	}
	r.Rows = append(r.Rows, levels(start, end, samples)...)
	r.Rows = append(r.Rows, w.judged(l)...)
	r.Pass = r.Passed()
	return r, nil
}

// levels compare the end with the start.
func levels(start sample, end ending, samples []sample) []Row {
	var peak int64
	for i := range samples {
		peak = max(peak, samples[i].rss)
	}
	settled := fmt.Sprintf("%.0f s after the churn", end.took.Seconds())
	at := func(name string, now, before int) Row {
		return most(name+" at the end", "", float64(now), float64(before), settled)
	}
	return []Row{
		at("eBPF links", end.links, start.links), at("eBPF programs", end.programs, start.programs),
		at("eBPF maps", end.maps, start.maps),
		most("descriptors at the end", "", float64(end.descriptors), float64(start.descriptors+end.may),
			append([]string{settled}, end.more...)...),
		most("space of deleted libraries held at the end", "KiB", float64(end.space>>10), 0),
		most("peak RSS", "MiB", float64(peak>>20), mostRSS),
		most("time to end", "s", end.exited.Seconds(), mostEnding),
	}
}

func (w *world) judged(l lost) []Row {
	var at []string
	for _, s := range l.seconds {
		at = append(at, time.Unix(s, 0).UTC().Format("15:04:05"))
	}
	idle := []string{}
	for _, c := range churners() {
		skipped := slices.ContainsFunc(w.skipped, func(s string) bool { return strings.HasPrefix(s, c.name+":") })
		if w.rounds.done[c.name] == 0 && !skipped {
			idle = append(idle, c.name)
		}
	}
	rows := []Row{
		none("seconds of the steady program lost", at),
		most("its calls neither recorded nor stated as lost", "", float64(l.missing), 0),
		most("its calls recorded too often", "", float64(l.surplus), 0),
		least("seconds that were judged", float64(l.judged), leastJudged*float64(l.judged+l.excused),
			fmt.Sprintf("%d excused", l.excused)),
		none("wrong findings", w.wrong),
		least("reports that were read", float64(w.reports), 1, fmt.Sprintf("%d findings; %d programs had the id of another",
			w.findings, w.numbers[usedAgain])),
		least("reports with findings", float64(w.found), leastFound*float64(w.reports)),
		none("questions not answered", w.unread),
		none("programs harmed", w.harmed),
		none("ends of the tracer by itself", w.ended),
		none("file systems that could not be unmounted", w.kept),
		none("churn that failed", w.rounds.failed),
		none("churn that was not done once", idle),
	}
	blind := false
	w.told.with(func(l lives) { blind = l.blind })
	if blind {
		rows = append(rows, Row{
			Name: "lives of processes known", Verdict: TooShort,
			Said: []string{"the kernel dropped some: processes that findings name were not judged"},
		})
	}
	return rows
}

// recorded asks for what the recording has of the steady program.
func (w *world) recorded() (r recorded, err error) {
	r = recorded{calls: map[int64]int64{}, losses: map[int64]int64{}}
	ask := func(to map[int64]int64, sql string) error {
		cmd := exec.CommandContext(context.Background(), w.tracer.ingero, "query", w.tracer.recording, "--format", "json",
			"--limit", "0", sql)
		cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "HOME="+w.dir)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("read the recording: %w: %s", err, said.String())
		}
		var rows []struct{ Second, N int64 }
		if err := json.Unmarshal(out, &rows); err != nil {
			return fmt.Errorf("read the recording: %w", err)
		}
		for _, x := range rows {
			to[x.Second] += x.N
		}
		return nil
	}
	err = ask(r.calls, fmt.Sprintf("select timestamp / 1000000000 as second, sum(calls) as n from op_seconds "+
		"where pid = %d and nested = 0 group by 1 order by 1", w.steady.cmd.Process.Pid))
	if err != nil {
		return r, err
	}
	return r, ask(r.losses, "select timestamp / 1000000000 as second, sum(count) as n from losses "+
		"where kind in ('call', 'stored', 'thread') group by 1 order by 1")
}

// Text writes the table.
func (r *Report) Text(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "slope after %.0f min\tmean\ta minute\tmost\t\n", r.WarmUp)
	slope := true
	for _, x := range r.Rows {
		of := x.Name
		if x.Unit != "" {
			of += ", " + x.Unit
		}
		if slope && !isSlope(x.Name) {
			slope = false
			fmt.Fprintln(t, "\t\t\t\t\nnumber\t\tvalue\tbound\t")
		}
		value, mean := number(x.Value), ""
		if slope {
			mean = number(x.Mean)
			value += " ± " + margin(x.Margin)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", of, mean, value, number(x.Bound), x.Verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range r.Rows {
		for _, s := range x.Said {
			fmt.Fprintf(out, "  %s: %s\n", x.Name, s)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.Churn)) {
		fmt.Fprintf(out, "  done: %s, %d times\n", k, r.Churn[k])
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(out, "  not done: %s\n", s)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Excused)) {
		fmt.Fprintf(out, "  not judged: %d s, because %s\n", r.Excused[k], k)
	}
	_, err := fmt.Fprintln(out, r.Summary())
	return err
}

func isSlope(name string) bool {
	for _, s := range series {
		if s.name == name {
			return true
		}
	}
	return false
}

func number(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00") }

func margin(m *float64) string {
	if m == nil {
		return "?"
	}
	return number(*m)
}
