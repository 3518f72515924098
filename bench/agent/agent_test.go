package agent_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/demo"
)

// TestAgentReachesTheInjectedCause runs the agent on each recording of the demo; the real tracer
// made them of programs with a known fault.
func TestAgentReachesTheInjectedCause(t *testing.T) {
	for i := range demo.Scenarios {
		s := &demo.Scenarios[i]
		t.Run(s.Name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "run.db")
			r, err := demo.Run(t.Context(), s, demo.Options{Replay: "for a test", Keep: db})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			answer, err := agent.Investigate(t.Context(), db, func(f *agent.Finding) bool {
				found = found || f.Kind == s.Expect && (r.Truth.CulpritPID == 0 || r.Truth.CulpritPID == int(f.Culprit.PID))
				return found
			})
			if err != nil {
				t.Fatal(err)
			}
			calls := answer.Calls
			if found == s.Healthy() || len(calls) == 0 || len(calls) > agent.MaxCalls {
				t.Errorf("expected %q, made %+v", s.Expect, calls)
			}
			if len(answer.Contradictions) > 0 || answer.Tokens() > 4000 {
				t.Errorf("%d tokens; %q", answer.Tokens(), answer.Contradictions)
			}
			for _, c := range calls {
				if s.Healthy() && c.Finding != nil {
					t.Errorf("a healthy program is blamed: %+v", c.Finding)
				}
			}
		})
	}
}

// Read hands over all that was said so far, and stops when that is enough.
func TestReadHandsOverAllThatWasSaid(t *testing.T) {
	db := filepath.Join(t.TempDir(), "run.db")
	s := demo.Scenarios[0]
	if _, err := demo.Run(t.Context(), &s, demo.Options{Replay: "for a test", Keep: db}); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	told, err := agent.Read(t.Context(), db, func(kind, said string) bool {
		sizes = append(sizes, len(said))
		if len(sizes) == 1 && (kind != s.Expect || !strings.Contains(said, kind)) {
			t.Errorf("the first answer has the kind %q: %s", kind, said)
		}
		return len(sizes) == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Calls) != 2 || len(sizes) != 2 || sizes[1] <= sizes[0] || told.Tokens() == 0 {
		t.Errorf("calls %+v, sizes %v", told.Calls, sizes)
	}
}
