package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func try(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, &o, &e, func(string) string { return "" })
	return code, o.String(), e.String()
}

func TestVersion(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile(`^ingero-fleet \S+ \(commit \S+, go\S.*, linux/\w+\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		if code, out, errs := try(arg); code != 0 || !said.MatchString(out) {
			t.Errorf("%s: %d: %q%s", arg, code, out, errs)
		}
	}
	if code, _, errs := try("version", "now"); code != exitUsage || !strings.Contains(errs, "takes no arguments") {
		t.Errorf("%d: %s", code, errs)
	}
}

func TestSimulateQuick(t *testing.T) {
	code, out, errs := try("simulate", "--quick", "--n", "3", "--json")
	if code != 0 {
		t.Fatalf("%d: %s%s", code, errs, out)
	}
	var r struct {
		Alarms []any `json:"alarms"`
		Table  []struct {
			N  int      `json:"n"`
			F1 *float64 `json:"f1"`
		} `json:"table"`
		Targets []struct {
			Met bool `json:"met"`
		} `json:"targets"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Alarms == nil || len(r.Table) < 5 || len(r.Targets) != 5 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.csv")
	var b strings.Builder
	for step := range "0123456789012345678901234567890123456789012345678901234567890123456789" {
		for rank := range "0123" {
			b.WriteString("0," + string(rune('0'+rank)) + "," + string(rune('0'+step/10)) + string(rune('0'+step%10)) + ",0,0,0.5,1\n")
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := try("simulate", "--replay", file, "--inject", "20%", "--rank", "2", "--at", "40")
	if code != 0 || !strings.Contains(out, "straggler, rank 2, since") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	code, out, errs = try("simulate", "--replay", file)
	if code != 0 || !strings.Contains(out, "own work, 30 %") || strings.Contains(out, "by amount") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	code, _, errs = try("simulate", "--replay", file, "--inject", "20%", "--rank", "9")
	if code != exitFailure || !strings.Contains(errs, "no rank 9") {
		t.Errorf("%d: %s", code, errs)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{
		{"simulat"},
		{"simulate", "now"},
		{"simulate", "--n", "5"},
		{"simulate", "--inject", "20%"},
		{"simulate", "--rank", "3"},
		{"simulate", "--replay", "x", "--rank", "3"},
		{"simulate", "--replay", "x", "--inject", "much"},
		{"simulate", "--replay", "x", "--inject", "NaN"},
		{"simulate", "--fast"},
		{"serve", "now"},
		{"serve", "--listen", ":0"},
		{"serve", "--listen", "0.0.0.0:0"},
		{"serve", "--key", "x"},
		{"serve", "--client-ca", "x"},
	} {
		if code, out, errs := try(args...); code != exitUsage || out != "" || !strings.HasPrefix(errs, "ingero-fleet: ") {
			t.Errorf("%v: %d: %s%s", args, code, errs, out)
		}
	}
	if code, _, errs := try("simulate", "--replay", "/nonexistent"); code != exitFailure || errs == "" {
		t.Errorf("%d: %s", code, errs)
	}
	if code, out, _ := try(); code != 0 || !strings.Contains(out, "simulate") {
		t.Errorf("help: %d: %s", code, out)
	}
}
