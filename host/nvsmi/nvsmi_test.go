package nvsmi_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/host/nvsmi"
)

func TestParseReadsWhatTheProgramCanSay(t *testing.T) {
	for line, want := range map[string]nvsmi.Reading{
		"0, 84, 1200, 1980, 97, 0x0000000000000060, 71034, 81559": {
			TempC: 84, ClockMHz: 1200, MaxMHz: 1980, UtilPct: 97, Reasons: 0x60, MemMB: 71034, TotalMB: 81559,
		},
		"3,31,345,1980,0,0x0000000000000001,0,81559":                        {GPU: 3, TempC: 31, ClockMHz: 345, MaxMHz: 1980, Reasons: 1, TotalMB: 81559},
		"1, [N/A], 1410, [Not Supported], [N/A], [N/A], 5, [Unknown Error]": {GPU: 1, ClockMHz: 1410, MemMB: 5},
		"0, -3, 99999999999999999999, 1, 250, 0xzz, 1, 1":                   {MaxMHz: 1, UtilPct: 100, MemMB: 1, TotalMB: 1},
	} {
		if got, ok := nvsmi.Parse(line); !ok || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{
		"", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "No devices were found",
		"index, temp, sm, max, util, reasons, used, total", "-1, 1, 1, 1, 1, 1, 1, 1", "0, 1, 2",
		`Field "clocks_event_reasons.active" is not a valid field to query.`,
	} {
		if got, ok := nvsmi.Parse(line); ok {
			t.Errorf("Parse(%q) = %+v, want no reading", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0, 84, 1200, 1980, 97, 0x60, 71034, 81559")
	f.Fuzz(func(t *testing.T, line string) {
		g, ok := nvsmi.Parse(line)
		if g.GPU < 0 || g.TempC < 0 || g.ClockMHz < 0 || g.MaxMHz < 0 || g.UtilPct < 0 || g.UtilPct > 100 || !ok && g != (nvsmi.Reading{}) {
			t.Errorf("Parse(%q) = %+v, %v", line, g, ok)
		}
	})
}

// fake writes a script that stands in for nvidia-smi.
func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

var silent = slog.New(slog.DiscardHandler)

// take waits for n readings.
func take(t *testing.T, r *nvsmi.Reader, n int) []nvsmi.Reading {
	t.Helper()
	var got []nvsmi.Reading
	for end := time.Now().Add(20 * time.Second); len(got) < n && time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = append(got, r.Take()...)
	}
	if len(got) != n {
		t.Fatalf("%d readings, want %d: %+v", len(got), n, got)
	}
	return got
}

func TestReadingsComeWhileTheProgramRuns(t *testing.T) {
	path := fake(t, `
case "$*" in
"--query-gpu=index,temperature.gpu,clocks.sm,clocks.max.sm,utilization.gpu,clocks_throttle_reasons.active,memory.used,memory.total --format=csv,noheader,nounits -l 5") ;;
*) exit 2 ;;
esac
echo "0, 84, 1200, 1980, 97, 0x0000000000000040, 71034, 81559"
echo "1, 35, 345, 1980, 0, 0x0000000000000001, 3, 81559"
exec sleep 60`)
	before := time.Now()
	r := nvsmi.Start(path, silent)
	defer r.Close()
	got := take(t, r, 2)
	if got[0].Reasons != 0x40 || got[1].GPU != 1 || got[0].At.Before(before) {
		t.Errorf("%+v", got)
	}
	if more := r.Take(); len(more) != 0 {
		t.Errorf("taken twice: %+v", more)
	}
}

func TestTheNewNameOfAFieldIsTriedToo(t *testing.T) {
	r := nvsmi.Start(fake(t, `
case "$*" in
*clocks_event_reasons.active*) echo "0, 84, 1200, 1980, 97, 0x60, 1, 2"; exec sleep 60 ;;
*) echo 'Field "clocks_throttle_reasons.active" is not a valid field to query.'; exit 2 ;;
esac`), silent)
	defer r.Close()
	if got := take(t, r, 1); got[0].Reasons != 0x60 {
		t.Errorf("%+v", got)
	}
}

func TestClosingEndsTheProgram(t *testing.T) {
	r := nvsmi.Start(fake(t, `echo "$$, 1, 1, 1, 1, 1, 1, 1"; exec sleep 60`), silent)
	pid := take(t, r, 1)[0].GPU
	r.Close()
	r.Close()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %s runs on", strconv.Itoa(pid))
	}
}

// A machine without the program, or without a GPU, gives no readings, and says so
// to nobody who has not asked for details.
func TestWithoutAGPUThereAreNoReadings(t *testing.T) {
	const missing = "/nonexistent/nvidia-smi"
	for _, path := range []string{
		missing,
		fake(t, "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; echo >>$0.runs; exit 9"),
		fake(t, "echo noise >&2; echo >>$0.runs; exit 0"),
	} {
		var said bytes.Buffer
		r := nvsmi.Start(path, slog.New(slog.NewTextHandler(&said, nil)))
		if path != missing {
			waitForRuns(t, path, 2) // with either name of the field
		}
		r.Close()
		if got := r.Take(); len(got) != 0 || strings.TrimSpace(said.String()) != "" {
			t.Errorf("%s: %+v, said %q", path, got, said.String())
		}
	}
}

// waitForRuns waits until a fake has left a line for each of its runs.
func waitForRuns(t *testing.T, path string, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runs, err := os.ReadFile(path + ".runs"); err == nil && len(runs) == n {
			return
		}
	}
	t.Fatalf("%s did not run %d times", path, n)
}
