package mcptool

import (
	"context"
	"path/filepath"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/report"
)

// compared is what changed from a baseline to what is asked about.
type compared struct {
	With    data             `json:"with"`
	Window  string           `json:"window"`
	Verdict data             `json:"verdict"`
	Threads []comparedThread `json:"threads"`
	Differs []data           `json:"differs"` // facts of hosts, GPUs and programs
	Note    data             `json:"note,omitempty"`
}

// comparedThread is a thread and the one of the baseline that does the same.
type comparedThread struct {
	Process   data    `json:"process"`
	PID       uint32  `json:"pid"`
	Change    data    `json:"change"`
	SlowerPct float64 `json:"slower_pct"`
	NoisePct  float64 `json:"noise_pct"`
	Parts     []data  `json:"parts"` // of the difference, with times that add up to it; and kernels
	Causes    []data  `json:"causes"`
}

// The parts of a comparison that an answer has.
const (
	maxCompared      = 2
	maxComparedParts = 4
	maxDiffers       = 6
)

// compare compares a part of the recording with a baseline.
func (s *server) compare(ctx context.Context, in scope, baseline string) (*compared, error) {
	sources := compare.Sources{Own: s.src, Others: s.opts.Baselines}
	a, err := sources.Side(ctx, baseline)
	if err != nil {
		return nil, err
	}
	var b *compare.Side
	var c common
	err = s.readView(ctx, in, &c, func(v *view) (err error) {
		b, err = compare.ReadView(ctx, v.View)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.Name = filepath.Base(s.src.Name())
	r := compare.Compare(a, b)
	out := &compared{
		With: name(r.A.Name), Window: clock(r.A.FromNS) + "/" + clock(r.A.ToNS), Verdict: prose(r.Verdict),
		Threads: []comparedThread{}, Differs: []data{},
	}
	for i := range first(r.Threads, maxCompared) {
		out.Threads = append(out.Threads, comparedOf(&r.Threads[i]))
	}
	for _, d := range first(r.Changes, maxDiffers) {
		out.Differs = append(out.Differs, prose(d.Words()))
	}
	for _, n := range r.Notes {
		out.Note = prose(joined(string(out.Note), n))
	}
	return out, nil
}

func comparedOf(t *compare.Thread) comparedThread {
	c := comparedThread{
		Process: name(t.Process), PID: t.B.PID, Change: prose(t.Words()), SlowerPct: t.SlowerPct, NoisePct: t.NoisePct,
		Parts: []data{}, Causes: []data{},
	}
	if !t.Changed {
		return c
	}
	rest := t.DifferenceNS
	for _, p := range first(t.Parts, maxComparedParts) {
		c.Parts = append(c.Parts, prose(report.Signed(p.NS)+" "+p.Text))
		rest -= p.NS
	}
	if rest != 0 {
		c.Parts = append(c.Parts, prose(report.Signed(rest)+" all smaller parts"))
	}
	for i := range first(t.Kernels, maxComparedParts) {
		c.Parts = append(c.Parts, prose("kernel "+t.Kernels[i].Words(t)))
	}
	for i := range first(t.Causes, maxComparedParts) {
		c.Causes = append(c.Causes, prose(t.Causes[i].State+" "+t.Causes[i].Words(t)))
	}
	return c
}
