package accuracy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

func cases(t *testing.T, o Options) []Case {
	t.Helper()
	if o.CPUs == nil {
		o.CPUs = []int{0, 1}
	}
	c, err := Cases(&o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var ignoreHow = cmpopts.IgnoreUnexported(Case{})

func TestTheSameSeedDrawsTheSameCases(t *testing.T) {
	if d := cmp.Diff(cases(t, Options{Seed: 7}), cases(t, Options{Seed: 7}), ignoreHow); d != "" {
		t.Error(d)
	}
	if cmp.Equal(cases(t, Options{Seed: 7}), cases(t, Options{Seed: 8}), ignoreHow) {
		t.Error("another seed draws the same cases")
	}
}

func TestASelectionDrawsTheSameCasesAsAll(t *testing.T) {
	var want []Case
	for _, c := range cases(t, Options{Seed: 3}) {
		if c.Name == "gpu" || c.Control() && !c.phases {
			want = append(want, c)
		}
	}
	got := cases(t, Options{Seed: 3, Only: []string{"gpu", "controls"}})
	if d := cmp.Diff(want, got, ignoreHow); d != "" || len(got) != 3+len(controls) {
		t.Errorf("%d cases (-all +selected):\n%s", len(got), d)
	}
}

func TestUnknownFaultListsTheKnownOnes(t *testing.T) {
	_, err := Cases(&Options{Only: []string{"nonsense"}, CPUs: []int{0}})
	if err == nil || !strings.Contains(err.Error(), "cpu-hog") || !strings.Contains(err.Error(), controlsName) {
		t.Errorf("error is %v", err)
	}
}

func TestEveryFaultIsDrawnInEachMagnitude(t *testing.T) {
	drawn := map[string][]Magnitude{}
	sampled := map[string]int{}
	controls := 0
	for _, c := range cases(t, Options{Seed: 1}) {
		if c.change {
			continue // the faults are among the others, too
		}
		switch len(c.Expect) {
		case 0:
			controls++
		case 1:
			drawn[c.Name] = append(drawn[c.Name], c.Magnitude)
			if c.whatIf {
				sampled[c.Expect[0].Kinds[0]]++
			}
		}
	}
	if len(drawn) < 25 || controls < 8 {
		t.Errorf("%d faults and %d controls, at least 25 and 8 are promised", len(drawn), controls)
	}
	for name, m := range drawn {
		if !slices.Equal(m, Magnitudes) {
			t.Errorf("%s is drawn in %v", name, m)
		}
	}
	for kind, n := range sampled {
		if n != 1 {
			t.Errorf("%s is run %d times without its fault", kind, n)
		}
	}
	quick := 0
	for _, c := range cases(t, Options{Seed: 1, Quick: true}) {
		if len(c.Expect) == 1 {
			quick++
		}
	}
	if quick != len(drawn) {
		t.Errorf("quick draws %d cases of %d faults", quick, len(drawn))
	}
}

// TestEveryFaultComesOftenEnough: the diagnosis reports nothing for fewer than ten waits, as it
// should; such a case would measure nothing.
func TestEveryFaultComesOftenEnough(t *testing.T) {
	for seed := range uint64(20) {
		for _, quick := range []bool{false, true} {
			for _, c := range cases(t, Options{Seed: seed, Quick: quick}) {
				period := value(t, c.Args, "--period-ms")
				if c.Control() || period == 0 || c.Expect[0].Kinds[0] == event.CauseCPUContention {
					continue
				}
				left := value(t, c.Args, "--seconds") - value(t, c.Args, "--start-after")
				if n := 1000 * left / period; n < 11 {
					t.Errorf("seed %d: %s comes %.0f times in %g s", seed, c.title(), n, left)
				}
			}
		}
	}
}

// value is the last number after an option, 0 without it.
func value(t *testing.T, args []string, option string) (v float64) {
	t.Helper()
	for i, a := range args {
		if a != option {
			continue
		}
		var err error
		if v, err = strconv.ParseFloat(args[i+1], 64); err != nil {
			t.Errorf("%s %s: %v", option, args[i+1], err)
		}
	}
	return v
}

func TestEveryKindIsKnownAndNamesFit(t *testing.T) {
	for _, f := range faults {
		for _, k := range f.Kinds {
			if !slices.Contains(event.Causes, k) {
				t.Errorf("%s expects %q, which is no kind of cause", f.Fault, k)
			}
		}
	}
	for _, n := range slices.Concat(programs, threads, others) {
		if len(n) > 15 {
			t.Errorf("the kernel cuts the name %q", n)
		}
	}
}

// TestTheProgramUnderstandsEveryCase runs each case for a moment, untraced.
func TestTheProgramUnderstandsEveryCase(t *testing.T) {
	files, err := cudastub.Extract(t.TempDir())
	if errors.Is(err, cudastub.ErrUnsupported) {
		t.Skip("no prebuilt stand-ins for this platform")
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases(t, Options{Seed: 5, Quick: true}) {
		args := append(slices.Clone(c.Args), "--seconds", "0.05", "--start-after", "0", "--pin", "none", "--ping-pong",
			"none", "--dir", t.TempDir())
		switch _, err := files.Loop(t.Context(), args...); {
		case err == nil:
			ran++
		case !errors.Is(err, cudastub.ErrUnsupported):
			t.Errorf("%s: %v", c.title(), err)
		}
	}
	if ran < 20 {
		t.Errorf("only %d cases ran", ran)
	}
}
