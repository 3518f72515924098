package vm

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/probe"
)

func TestSubtestsAreCounted(t *testing.T) {
	var tally Tally
	for line := range strings.Lines(`=== RUN   TestA
--- PASS: TestA (0.10s)
    --- PASS: TestA/perf (0.10s)
    --- SKIP: TestA/multi (0.00s)
--- FAIL: TestB (1.00s)
    --- PASS: TestB/one (0.50s)
    --- FAIL: TestB/two (0.50s)
        --- FAIL: TestB/two/deep (0.50s)
--- FAIL: TestC (0.10s)
    --- PASS: TestC/one (0.50s)
--- SKIP: TestD (0.10s)
--- PASS: TestE (0.10s)
--- a line of a program: its own
`) {
		tally.Line(strings.TrimSuffix(line, "\n"))
	}
	var o Outcome
	tally.Fill(&o)
	want := Outcome{Passed: 4, Failed: []string{"TestB/two/deep", "TestC"}, Skipped: 2}
	if d := cmp.Diff(want, o); d != "" || o.OK() {
		t.Errorf("counted (-want +got):\n%s", d)
	}
}

func TestAStepWithoutPassedTestsIsNotOK(t *testing.T) {
	for _, o := range []Outcome{{}, {Skipped: 3}, {Passed: 1, Trouble: "signal: killed"}} {
		if o.OK() {
			t.Errorf("%+v is OK", o)
		}
	}
}

func TestResultsAreReadBackFromTheConsole(t *testing.T) {
	r := &Result{
		Release: "6.1.0",
		Steps:   []Outcome{{Step: Step{Package: "probe", Backend: "perf"}, Passed: 3, Took: time.Second}},
	}
	got, ok := parseLine(r.Line())
	if !ok {
		t.Fatal("not read back")
	}
	if d := cmp.Diff(r, got); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	for _, line := range []string{"", "--- PASS: TestA", resultMark + `{"release":"6.1`} {
		if _, ok := parseLine(line); ok {
			t.Errorf("%q is a result", line)
		}
	}
}

func TestTheMatrixHasALineForEachBackend(t *testing.T) {
	runs := []Run{
		{
			Kernel: Kernel{Version: "5.10"},
			Result: &Result{Release: "5.10.1", Steps: []Outcome{{Passed: 1, Took: 2 * time.Second}}},
		},
		{
			Kernel: Kernel{Version: "6.12", Backends: []probe.Backend{"multi", "perf"}},
			Result: &Result{Release: "6.12.3", Steps: []Outcome{
				{Step: Step{Package: "probe", Backend: "multi"}, Passed: 5, Took: time.Second},
				{Step: Step{Package: "probe", Backend: "perf"}, Passed: 4, Failed: []string{"TestX"}, Took: time.Second},
				{Step: Step{Package: "agent", Backend: "multi"}, Passed: 2, Skipped: 1, Took: time.Second},
			}},
		},
		{Kernel: Kernel{Version: "7.2"}, Err: errors.New("it hangs"), Took: time.Minute},
	}
	var b bytes.Buffer
	if err := WriteMatrix(&b, runs); err != nil {
		t.Fatal(err)
	}
	WriteFailures(&b, runs)
	want := `| kernel | back end                 | passed | failed | skipped | time |
|---     |---                       |---     |---     |---      |---   |
| 5.10.1 | none, refused            | 1      | 0      | 0       | 2 s  |
| 6.12.3 | multi                    | 7      | 0      | 1       | 2 s  |
| 6.12.3 | perf                     | 4      | 1      | 0       | 1 s  |
| 7.2    | none: the machine failed | 0      | 0      | 0       | 60 s |
6.12: probe (perf): TestX
7.2: it hangs
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for i, ok := range []bool{true, false, false} {
		if runs[i].OK() != ok {
			t.Errorf("%s is OK: %v", runs[i].Kernel.Version, !ok)
		}
	}
}
