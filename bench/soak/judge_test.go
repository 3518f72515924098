package soak

import (
	"math"
	"strings"
	"testing"
)

// readings are one each two seconds. at gives the descriptors of a life at a minute of it.
func readings(minutes float64, lives int, at func(life int, minute float64) float64) (all []sample) {
	const each = 2.0 / 60
	for life := range lives {
		for m := 0.0; m < minutes; m += each {
			all = append(all, sample{
				minutes: float64(life)*minutes + m, life: life, descriptors: int(at(life, m)),
				own: int64(at(life, m) * (1 << 20)), cpu: at(life, m) / 1000, rates: true,
			})
		}
	}
	return all
}

func verdictOf(t *testing.T, rows []Row, name string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row %q", name)
	return Row{}
}

func TestSlopes(t *testing.T) {
	wave := func(m float64) float64 { return 5 * math.Sin(2*math.Pi*m) } // the churn's cycle
	for name, c := range map[string]struct {
		minutes float64
		lives   int
		at      func(life int, minute float64) float64
		want    Verdict
	}{
		"flat":                            {10, 1, func(int, float64) float64 { return 70 }, OK},
		"flat within the cycle":           {10, 1, func(_ int, m float64) float64 { return 70 + wave(m) }, OK},
		"each life at a level of its own": {10, 3, func(l int, _ float64) float64 { return 70 + 50*float64(l) }, OK},
		"falls":                           {10, 1, func(_ int, m float64) float64 { return 170 - 3*m }, OK},
		"rises":                           {10, 1, func(_ int, m float64) float64 { return 70 + 3*m + wave(m) }, Failed},
		"rises in each life":              {10, 3, func(_ int, m float64) float64 { return 70 + 3*m }, Failed},
		"rises only in the warm-up":       {12, 1, func(_ int, m float64) float64 { return 70 + 20*min(m, 2) }, OK},
		"rises, in a short run":           {5, 1, func(_ int, m float64) float64 { return 70 + 50*m }, Failed},
		"flat, in a short run":            {5, 1, func(int, float64) float64 { return 70 }, TooShort},
		"nothing after the warm-up":       {1, 1, func(int, float64) float64 { return 70 }, TooShort},
		"varies from minute to minute": {
			10, 1,
			func(_ int, m float64) float64 { return 70 + 20*float64(int(m)%2) }, TooShort,
		},
	} {
		t.Run(name, func(t *testing.T) {
			const warm = 2
			rows := slopes(readings(c.minutes, c.lives, c.at), warm, warm)
			for _, of := range []string{"descriptors", "its own memory"} {
				if r := verdictOf(t, rows, of); r.Verdict != c.want {
					t.Errorf("%s: %+v", of, r)
				}
			}
		})
	}
}

// Memory rises until the caches are full, which is no leak; what goes on after that is one.
func TestMemoryIsJudgedOnceCachesAreFull(t *testing.T) {
	const warm = 2
	for _, c := range []struct {
		minutes float64
		leak    float64 // a minute
		want    Verdict
	}{{10, 0, TooShort}, {20, 0, OK}, {20, 3, Failed}} {
		rows := slopes(readings(c.minutes, 1, func(_ int, m float64) float64 {
			return 70 + 2*min(m, fillMinutes) + c.leak*m
		}), warm, fillMinutes)
		if r := verdictOf(t, rows, "its own memory"); r.Verdict != c.want {
			t.Errorf("%g minutes, %g more a minute: %+v", c.minutes, c.leak, r)
		}
		if r := verdictOf(t, rows, "descriptors"); c.leak == 0 && r.Verdict != Failed {
			t.Errorf("%g minutes: descriptors do not fill a cache: %+v", c.minutes, r)
		}
	}
}

// A line through points that are known is the line, and its margin is 0.
func TestFitLine(t *testing.T) {
	var points []point
	for i := range 10 {
		points = append(points, point{minutes: float64(i), value: 3 + 2*float64(i)})
	}
	f := fitLine(points)
	if !f.known || f.blocks != 10 || math.Abs(f.slope-2) > 1e-9 || f.margin > 1e-6 || math.Abs(f.mean-12) > 1e-9 {
		t.Errorf("%+v", f)
	}
	if f := fitLine(points[:2]); f.known {
		t.Errorf("of two points: %+v", f)
	}
	if f := fitLine(nil); f.known {
		t.Errorf("of none: %+v", f)
	}
}

// The 99th percentile of Student's t is known.
func TestQuantile(t *testing.T) {
	for free, want := range map[int]float64{1: 31.82, 5: 3.36, 15: 2.60, 20: 2.60, 30: 2.46, 1000: 2.46} {
		if got := quantile(free); got != want {
			t.Errorf("%d: %v", free, got)
		}
	}
}

// Each row that fails fails the run, and a run that is too short says so.
func TestSummary(t *testing.T) {
	r := Report{Rows: []Row{most("a", "", 1, 1), none("b", nil), least("c", 1, 1), {Name: "d", Verdict: TooShort}}}
	if got := r.Summary(); !r.Passed() || got != "passed. Too short to judge: d" {
		t.Errorf("%v %q", r.Passed(), got)
	}
	for _, bad := range []Row{
		most("bad", "", 2, 1), most("bad", "", 0.1, 0), none("bad", []string{"one"}), least("bad", 0, 1),
	} {
		f := Report{Rows: append([]Row{most("a", "", 1, 1)}, bad)}
		if got := f.Summary(); f.Passed() || got != "FAILED: bad" {
			t.Errorf("%+v: %q", bad, got)
		}
		var out strings.Builder
		if err := f.Text(&out); err != nil || !strings.Contains(out.String(), "FAILED: bad") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	r := none("x", strings.Fields("1 2 3 4 5 6 7"))
	if r.Value != 7 || len(r.Said) != 6 || r.Said[5] != "and 2 more" {
		t.Errorf("%+v", r)
	}
}
