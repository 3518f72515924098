package vm

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Step is a test program's run in a virtual machine.
type Step struct {
	Package string   `json:"package"`
	Backend string   `json:"backend"` // that is asked for; empty: none, the kernel has none
	Dir     string   `json:"dir"`
	Args    []string `json:"args"` // with the program
}

// String names the step for people.
func (s *Step) String() string {
	if s.Backend == "" {
		return s.Package
	}
	return s.Package + " (" + s.Backend + ")"
}

// Outcome is the result of a step. A test with subtests counts as its subtests.
type Outcome struct {
	Step
	Passed  int           `json:"passed"`
	Failed  []string      `json:"failed"`
	Skipped int           `json:"skipped"`
	Trouble string        `json:"trouble"` // why the program itself failed
	Took    time.Duration `json:"took_ns"`
}

// OK says that tests have passed, and none has failed.
func (o *Outcome) OK() bool { return o.Trouble == "" && len(o.Failed) == 0 && o.Passed > 0 }

// Result is the result of a virtual machine.
type Result struct {
	Release string    `json:"release"` // of its kernel
	Pages   int       `json:"pages"`   // KiB of one
	Steps   []Outcome `json:"steps"`
}

// The protocol of guest and host: the steps are in a file, the result is a line on the
// console.
const (
	GuestEnv   = "INGERO_GUEST" // set for the tests in the virtual machine: they may break its kernel
	StepsFile  = "/steps.json"
	resultMark = "vm-result: "
)

// Line is the result as a line of the console.
func (r *Result) Line() string {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Sprintf("cannot write the result: %v", err) // cannot happen: it has only numbers and texts
	}
	return resultMark + string(b)
}

// parseLine reads a result out of a line of the console, if it is one.
func parseLine(line string) (r *Result, ok bool) {
	text, ok := strings.CutPrefix(line, resultMark)
	if !ok {
		return nil, false
	}
	r = new(Result)
	return r, json.Unmarshal([]byte(text), r) == nil
}

// Tally counts tests from the lines of a test program with -test.v.
type Tally struct {
	names []string // in the order in which they ended
	state map[string]string
}

// Line takes one line.
func (t *Tally) Line(line string) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "--- ")
	if !ok {
		return
	}
	state, name, ok := strings.Cut(rest, ": ")
	if !ok || (state != "PASS" && state != "FAIL" && state != "SKIP") {
		return
	}
	name, _, _ = strings.Cut(name, " ")
	if t.state == nil {
		t.state = map[string]string{}
	}
	if t.state[name] == "" {
		t.names = append(t.names, name)
	}
	t.state[name] = state
}

// Fill writes the counts into an outcome. A test that failed although all its subtests
// passed counts, too.
func (t *Tally) Fill(o *Outcome) {
	parts, failed := map[string]bool{}, map[string]bool{}
	for _, name := range t.names {
		for i, c := range name {
			if c != '/' {
				continue
			}
			parts[name[:i]] = true
			failed[name[:i]] = failed[name[:i]] || t.state[name] == "FAIL"
		}
	}
	for _, name := range t.names {
		switch {
		case t.state[name] == "FAIL" && !failed[name]:
			o.Failed = append(o.Failed, name)
		case parts[name]:
		case t.state[name] == "PASS":
			o.Passed++
		case t.state[name] == "SKIP":
			o.Skipped++
		}
	}
}
