package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

type testReportIn struct {
	Failed bool `json:"failed,omitempty" jsonschema:"only cases that went wrong; default false"`
	paging
}

type testReportOut struct {
	Dropped     dropped    `json:"dropped"`
	Note        string     `json:"note,omitempty"`
	Cases       int        `json:"cases"`
	Controls    int        `json:"controls"`
	FirstCause  float64    `json:"first_cause" jsonschema:"share, 0 to 1"`
	Culprit     float64    `json:"culprit"`
	FalseBlames int        `json:"false_blames"`
	Results     []testCase `json:"results"`
	NextCursor  string     `json:"next_cursor,omitempty"`
}

// testCase is a fault that was injected, and what was found.
type testCase struct {
	Name    string `json:"name"`
	Right   bool   `json:"right"`
	Verdict data   `json:"verdict"`
}

func (t testReportOut) rows() int { return len(t.Results) }

// accuracyReport is the part of the output of "ingero bench diagnosis --json" that the
// tool shows.
type accuracyReport struct {
	Cases       int     `json:"cases"`
	Controls    int     `json:"controls"`
	FirstCause  float64 `json:"first_cause"`
	Culprit     float64 `json:"culprit"`
	FalseBlames int     `json:"false_blames"`
	Results     []struct {
		Name       string            `json:"name"`
		Magnitude  string            `json:"magnitude"`
		Expect     []json.RawMessage `json:"expect"`
		Skipped    string            `json:"skipped"`
		Disturbed  bool              `json:"disturbed"`
		Culprit    bool              `json:"culprit"`
		FalseBlame bool              `json:"false_blame"`
		Verdict    string            `json:"verdict"`
	} `json:"results"`
}

// maxReport bounds the file that is read.
const maxReport = 16 << 20

var testReportTool = tool[testReportIn, testReportOut]{
	name:  "get_test_report",
	about: "How often Ingero was right about injected faults.",
	run: func(_ context.Context, s *server, in testReportIn) (out testReportOut, err error) {
		path := s.opts.TestReport
		if path == "" {
			path = filepath.Join(filepath.Dir(s.src.Name()), "test-report.json")
		}
		out = testReportOut{Dropped: dropped{}, Results: []testCase{}}
		r, err := readReport(path)
		if errors.Is(err, fs.ErrNotExist) {
			out.Note = "there is no report yet; make one with: sudo ingero bench diagnosis --quick --json > " +
				string(name(path))
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Cases, out.Controls = r.Cases, r.Controls
		out.FirstCause, out.Culprit, out.FalseBlames = r.FirstCause, r.Culprit, r.FalseBlames
		var list []testCase
		for _, x := range r.Results {
			right := x.Culprit
			if len(x.Expect) == 0 {
				right = !x.FalseBlame
			}
			if x.Skipped != "" || x.Disturbed || in.Failed && right {
				continue
			}
			if x.Magnitude != "" {
				x.Name += ", " + x.Magnitude
			}
			list = append(list, testCase{x.Name, right, prose(x.Verdict)})
		}
		out.Results, out.NextCursor, err = page(list, in.paging, in, new(common))
		return out, err
	},
}

func readReport(path string) (*accuracyReport, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: pass a test report", path)
	case info.Size() > maxReport:
		return nil, fmt.Errorf("%s is not a test report: it has %d bytes, a report at most %d", path, info.Size(), maxReport)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(accuracyReport)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s is not a test report: %w; make one with ingero bench diagnosis --json", path, err)
	}
	return r, nil
}
