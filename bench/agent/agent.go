// Package agent is a trivial AI agent: it calls diagnose on a recording's server, and then the
// tools that the answer suggests. What such an agent finds, any model can find. The caller judges
// what it found.
package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
)

// MaxCalls is the largest number of tool calls.
const MaxCalls = 3

// Finding is the finding in an answer of diagnose.
type Finding struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	Culprit struct {
		Process string `json:"process"`
		PID     uint32 `json:"pid"`
		TID     uint32 `json:"tid"`
		Thread  string `json:"thread"` // empty: the same name as the process
	} `json:"culprit"`

	// Began is when time was lost first; PerStep is the cost in a step. They are zero and nil if
	// the answer does not have them.
	Began   time.Time `json:"began,omitzero"`
	PerStep *Step     `json:"per_step,omitempty"`
}

// Step is the cost of a finding in a mean step, and the duration of a step without it.
type Step struct {
	NowNS     uint64  `json:"now_ns"`
	LostNS    uint64  `json:"lost_ns"`
	WithoutNS uint64  `json:"without_ns"`
	FasterPct float64 `json:"faster_pct"`
}

// Told is what the agent was told about a recording.
type Told struct {
	Calls          []Call   `json:"calls"`
	Contradictions []string `json:"contradictions"` // statements that cannot both be true
}

// Tokens is how much the agent had to read.
func (t *Told) Tokens() int {
	n := 0
	for _, c := range t.Calls {
		n += c.Tokens
	}
	return n
}

// Call is a tool call that the agent made.
type Call struct {
	Tool    string         `json:"tool"`
	Args    map[string]any `json:"arguments"`
	Finding *Finding       `json:"finding,omitempty"` // the answer's finding, if any
	Tokens  int            `json:"tokens"`            // size of the answer on the wire, four bytes of JSON each
}

// answer is the part of an answer that the agent reads.
type answer struct {
	Finding *Finding  `json:"finding"`
	Began   time.Time `json:"began"`
	PerStep *Step     `json:"per_step"`
	Next    []struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"arguments"`
	} `json:"next"`

	text   []byte         // all of it
	fields map[string]any // the same
	tokens int
}

// Investigate asks about the recording in a file until done says that enough was found, there is
// nothing left to ask, or MaxCalls calls were made.
func Investigate(ctx context.Context, db string, done func(*Finding) bool) (*Told, error) {
	return investigate(ctx, db, func(a *answer) bool { return a.Finding != nil && done(a.Finding) })
}

// Read does the same, and hands done the kind of an answer's finding, empty without one, and all that the answers have
// said so far, as JSON.
func Read(ctx context.Context, db string, done func(kind, said string) bool) (*Told, error) {
	var said strings.Builder
	return investigate(ctx, db, func(a *answer) bool {
		said.Write(a.text)
		said.WriteByte('\n')
		kind := ""
		if a.Finding != nil {
			kind = a.Finding.Kind
		}
		return done(kind, said.String())
	})
}

func investigate(ctx context.Context, db string, done func(*answer) bool) (*Told, error) {
	t := &Told{Contradictions: []string{}}
	s, err := Open(ctx, db)
	if err != nil {
		return t, err
	}
	defer s.Close()
	var said []statement
	todo := []Call{{Tool: "diagnose", Args: map[string]any{}}}
	for len(todo) > 0 && len(t.Calls) < MaxCalls {
		c := todo[0]
		a, err := s.ask(ctx, c.Tool, c.Args)
		if err != nil {
			return t, err
		}
		c.Finding, c.Tokens = a.Finding, a.tokens
		t.Calls = append(t.Calls, c)
		said = append(said, statement{c.Tool, c.Args, a.fields})
		t.Contradictions = contradictions(said)
		if done(a) {
			return t, nil
		}
		todo = todo[1:]
		if len(a.Next) > 0 { // suggestions of the last answer replace older ones
			todo = nil
			for _, n := range a.Next {
				todo = append(todo, Call{Tool: n.Tool, Args: n.Args})
			}
		}
	}
	return t, nil
}

// Session calls the tools of a recording's MCP server.
type Session struct {
	src    recording.Source
	server *mcp.ServerSession
	client *mcp.ClientSession
}

// Open starts the server for the recording in a file, and connects to it.
func Open(ctx context.Context, db string) (*Session, error) {
	s := &Session{src: source.New(db)}
	ours, theirs := mcp.NewInMemoryTransports()
	var err error
	if s.server, err = mcptool.NewServer(s.src, mcptool.Options{}).Connect(ctx, ours, nil); err != nil {
		s.Close()
		return nil, fmt.Errorf("serve %s: %w", db, err)
	}
	if s.client, err = mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(ctx, theirs, nil); err != nil {
		s.Close()
		return nil, fmt.Errorf("connect to the server of %s: %w", db, err)
	}
	return s, nil
}

// Close closes client, server and recording. Errors do not matter: nothing was written.
func (s *Session) Close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.server != nil {
		_ = s.server.Close()
	}
	_ = s.src.Close()
}

// Call calls a tool, and returns the fields of its answer.
func (s *Session) Call(ctx context.Context, tool string, args map[string]any) (map[string]any, error) {
	a, err := s.ask(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	return a.fields, nil
}

// ask calls a tool. If a suggested call fails, that is an error: the agent has no other idea.
func (s *Session) ask(ctx context.Context, tool string, args map[string]any) (*answer, error) {
	res, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	if err := res.GetError(); err != nil {
		return nil, fmt.Errorf("call %s with %v: %w", tool, args, err)
	}
	if res.IsError {
		text, _ := json.Marshal(res.Content) // cannot fail: it was decoded from JSON
		return nil, fmt.Errorf("call %s with %v: %s", tool, args, text)
	}
	a := new(answer)
	if err := a.readResult(res); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	return a, nil
}

// bytesPerToken is the number of JSON bytes that count as a token.
const bytesPerToken = 4

func (a *answer) readResult(res *mcp.CallToolResult) error {
	whole, err := json.Marshal(res)
	if err != nil {
		return err
	}
	a.tokens = len(whole) / bytesPerToken
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	a.text = b
	if err := json.Unmarshal(b, &a.fields); err != nil {
		return err
	}
	if err := json.Unmarshal(b, a); err != nil {
		return err
	}
	if a.Finding != nil {
		a.Finding.Began, a.Finding.PerStep = a.Began, a.PerStep
	}
	return nil
}
