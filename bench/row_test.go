package bench

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
)

func TestJudge(t *testing.T) {
	within := atMost(0)
	within.WithinError = true
	for _, c := range []struct {
		name     string
		measured float64
		err      float64
		target   *Target
		want     bool
	}{
		{"below", 1.2, 0, atMost(1.25), true},
		{"at the bound", 1.25, 0, atMost(1.25), true},
		{"above, whatever the error", 1.3, 1, atMost(1.25), false},
		{"enough", 0.98, 0, atLeast(0.975), true},
		{"too little", 0.97, 0, atLeast(0.975), false},
		{"zero within its error", 0.4, 0.5, within, true},
		{"more than its error", 0.6, 0.5, within, false},
		{"nothing measured", math.NaN(), 0, atMost(1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Row{Measured: c.measured, Error: c.err, Target: c.target}.judge()
			if r.OK == nil || *r.OK != c.want {
				t.Errorf("judged %v, want %v", r.OK, c.want)
			}
		})
	}
	if r := (Row{Measured: 1}).judge(); r.OK != nil {
		t.Error("a row without a target was judged")
	}
}

func TestTheJSONOfAReportIsStable(t *testing.T) {
	r := Report{Schema: 1, Kernel: "6.18", Arch: "amd64", CPUs: 2, Rows: []Row{
		Row{
			Measurement: "call", Name: "n", Measured: 1.16, Error: 0.01, Unit: Ratio, Target: atMost(1.25),
			Detail: map[string]float64{"base_ns": 20},
		}.judge(),
		{Measurement: "insert", Name: "m", Measured: 3, Unit: Nanoseconds},
	}}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"quick":false,"kernel":"6.18","arch":"amd64","cpus":2,"rows":[` +
		`{"measurement":"call","name":"n","measured":1.16,"error":0.01,"unit":"x","target":{"at_most":1.25},"ok":true,"detail":{"base_ns":20}},` +
		`{"measurement":"insert","name":"m","measured":3,"unit":"ns"}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSelect(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All {
		if seen[m.Name] || m.About == "" || m.run == nil {
			t.Errorf("measurement %q is incomplete or there twice", m.Name)
		}
		seen[m.Name] = true
	}
	if m, err := Select(Overhead); err != nil || len(m) < 5 {
		t.Errorf("overhead: %d measurements, %v", len(m), err)
	}
	if m, err := Select(Overhead, "loop"); err != nil || len(m) != 1 || m[0].Name != "loop" {
		t.Errorf("loop: %v, %v", m, err)
	}
	if _, err := Select(Store, "loop"); err == nil {
		t.Error("loop was found in the wrong group")
	}
}

func TestTheShareKeptByCPUTimeComesFromTheAddedTime(t *testing.T) {
	run := func(stepsPS float64, cpu int64) trained {
		return trained{Truth: cudastub.Truth{Steps: 1000, StepsPS: stepsPS, CPUNS: cpu * 1000}, calls: 22_000}
	}
	p := pairs{
		without: []trained{run(1000, 300_000), run(1000, 310_000)},
		with:    []trained{run(980, 320_000), run(890, 330_000)},
	}
	rows := trainings[0].rows(&p)
	if want := 1e6 / (1e6 + 20_000); math.Abs(rows[1].Measured-want) > 1e-9 {
		t.Errorf("kept %g, want %g", rows[1].Measured, want)
	}
	if got := rows[1].Detail["added_ns_per_call"]; math.Abs(got-20_000.0/22) > 1e-6 {
		t.Errorf("added %g ns a call", got)
	}
	if want := (0.98 + 0.89) / 2; math.Abs(rows[0].Measured-want) > 1e-9 {
		t.Errorf("kept %g steps/s, want %g", rows[0].Measured, want)
	}
}

func TestACallIsComparedPerTracedCall(t *testing.T) {
	k := callKind{name: "two", perCall: 2, target: atMost(1.25)}
	r := k.row(probe.BackendMulti, series{100, 120, 130}, series{1100, 1120, 1150}, series{1300, 1320, 1340})
	if r.Measured != 1.2 || r.Detail["added_ns"] != 600 || r.Detail["added_empty_ns"] != 500 || !*r.OK {
		t.Errorf("got %+v", r)
	}
}
