package cost_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/cost"
)

func TestTheExampleSaysThatItIsOne(t *testing.T) {
	r := cost.Example()
	if !strings.Contains(r.Source, "example") || !strings.Contains(r.Source, "--rates") || r.Date == "" {
		t.Errorf("%+v", r)
	}
	for _, one := range r.List {
		if one.PerHour != math.Trunc(one.PerHour) {
			t.Errorf("%+v: a price that looks exact", one)
		}
	}
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "H100", "NVIDIA GH200 480GB": "GH200", "NVIDIA H200": "H200", "nvidia a100-sxm4-40gb": "A100",
		"NVIDIA L40S": "L40S", "NVIDIA L4": "L4",
	} {
		if got, ok := r.Of(model); !ok || got.GPU != want {
			t.Errorf("%s: %+v", model, got)
		}
	}
	if got, ok := r.Of("Tesla T4"); ok || got.PerHour != r.Default {
		t.Errorf("%+v", got)
	}
	if _, ok := r.Of(""); ok {
		t.Error("no model has a rate")
	}
}

func TestParse(t *testing.T) {
	const good = `{"source":"our contract","date":"2026-01-31","currency":"EUR","default_per_gpu_hour":1.5,"rates":[{"gpu":"H100","per_gpu_hour":2.25}]}`
	r, err := cost.Parse([]byte(good))
	if one, ok := r.Of("H100"); err != nil || !ok || one.PerHour != 2.25 || r.Currency != "EUR" {
		t.Errorf("%+v, %v", r, err)
	}
	for bad, want := range map[string]string{
		"": "read the rates", "[]": "read the rates", "{}": "need source",
		strings.Replace(good, "our contract", "", 1):                          "need source",
		strings.Replace(good, "our contract", strings.Repeat("x", 201), 1):    "may have 200 bytes",
		strings.Replace(good, "1.5", "0", 1):                                  "default_per_gpu_hour",
		strings.Replace(good, "1.5", "-1", 1):                                 "default_per_gpu_hour",
		strings.Replace(good, "2.25", "-2", 1):                                "the GPU \"H100\"",
		strings.Replace(good, "2.25", "1e300", 1):                             "the GPU \"H100\"",
		strings.Replace(good, `"gpu":"H100"`, `"gpu":""`, 1):                  "the GPU \"\"",
		good + strings.Repeat(" ", cost.MaxFile):                              "bytes",
		`{"source":"a","date":"b","currency":"c","default_per_gpu_hour":"3"}`: "read the rates",
	} {
		if _, err := cost.Parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v; want %s", bad, err, want)
		}
	}
}

// 96 times 290 ms, seven waiting ranks, at 3 per hour.
func TestWaited(t *testing.T) {
	w := cost.Waited(96*290e6*7, 3)
	if math.Abs(w.GPUHours-0.0541333) > 1e-6 || math.Abs(w.Money-0.1624) > 1e-6 {
		t.Errorf("%+v", w)
	}
	for _, ns := range []float64{0, -5, math.NaN(), math.Inf(1)} {
		if w := cost.Waited(ns, 3); w != (cost.Waste{}) {
			t.Errorf("%v: %+v", ns, w)
		}
	}
}

func TestAnEpisode(t *testing.T) {
	const hour = 3600e9
	full := cost.Episode{FromNS: 0, ToNS: hour, LostMS: 20, StepMS: 100, Ranks: 8}
	for name, c := range map[string]struct {
		change func(*cost.Episode)
		want   float64 // hours
	}{
		"an hour":         {func(*cost.Episode) {}, 0.2 * 7},
		"all of it":       {func(e *cost.Episode) { e.LostMS = 500 }, 7},
		"no time":         {func(e *cost.Episode) { e.ToNS = e.FromNS }, 0},
		"nobody waits":    {func(e *cost.Episode) { e.Ranks = 1 }, 0},
		"no step":         {func(e *cost.Episode) { e.StepMS = 0 }, 0},
		"nothing is lost": {func(e *cost.Episode) { e.LostMS = -3 }, 0},
		"not a number":    {func(e *cost.Episode) { e.LostMS = math.NaN() }, 0},
	} {
		e := full
		c.change(&e)
		if got := cost.Losses([]cost.Episode{e})[0].WaitedNS / hour; math.Abs(got-c.want) > 1e-9 || e.Known() != (got > 0) {
			t.Errorf("%s: %v hours; want %v", name, got, c.want)
		}
	}
}

// What several slow ranks take together counts once.
func TestEpisodesAtATime(t *testing.T) {
	const hour = int64(3600e9)
	episode := func(rank int, from, to int64, lost float64) cost.Episode {
		return cost.Episode{Rank: rank, FromNS: from * hour, ToNS: to * hour, LostMS: lost, StepMS: 100, Ranks: 64}
	}
	var node []cost.Episode // all eight ranks of a node
	for rank := range 8 {
		node = append(node, episode(rank, 0, 1, 20))
	}
	for name, c := range map[string]struct {
		list []cost.Episode
		want []float64 // waiting time of each, in hours
	}{
		"none":                   {nil, nil},
		"a node":                 {node, []float64{0.2 * 56, 0, 0, 0, 0, 0, 0, 0}},
		"one after the other":    {[]cost.Episode{episode(1, 0, 1, 20), episode(2, 1, 2, 10)}, []float64{0.2 * 63, 0.1 * 63}},
		"a slower one in it":     {[]cost.Episode{episode(1, 0, 3, 10), episode(2, 1, 2, 50)}, []float64{2 * 0.1 * 63, 0.5 * 62}},
		"one rank told of twice": {[]cost.Episode{episode(1, 0, 2, 10), episode(1, 1, 3, 10)}, []float64{2 * 0.1 * 63, 0.1 * 63}},
	} {
		got := cost.Losses(c.list)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, want := range c.want {
			if math.Abs(got[i].WaitedNS/float64(hour)-want) > 1e-9 {
				t.Errorf("%s: episode %d: %v hours; want %v", name, i, got[i].WaitedNS/float64(hour), want)
			}
		}
	}
}
