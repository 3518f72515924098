// Package agent is an AI agent without intelligence: it asks a recording's server
// to diagnose, and then whatever the answer says to ask next. What such an agent
// finds, any model can find. Judging what it found is its caller's business.
package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/mcptool"
	"github.com/ingero-io/ingero/store/source"
)

// MaxCalls is how many calls of tools it makes at most.
const MaxCalls = 3

// Finding is what an answer of diagnose blames.
type Finding struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	Culprit struct {
		Process string `json:"process"`
		PID     uint32 `json:"pid"`
		TID     uint32 `json:"tid"`
		Thread  string `json:"thread"` // empty: named as the process
	} `json:"culprit"`
}

// Call is a call it made.
type Call struct {
	Tool    string         `json:"tool"`
	Args    map[string]any `json:"arguments"`
	Finding *Finding       `json:"finding,omitempty"` // what the answer blames, if it does
}

// answer is what it reads of an answer.
type answer struct {
	Finding *Finding `json:"finding"`
	Next    []struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"arguments"`
	} `json:"next"`
}

// Investigate asks about the recording in a file until done says that what was
// found is enough, nothing is left to ask, or MaxCalls were made.
func Investigate(ctx context.Context, db string, done func(*Finding) bool) ([]Call, error) {
	src := source.File(db)
	defer func() { _ = src.Close() }() // a reader has nothing to lose
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := mcptool.NewServer(src, mcptool.Options{}).Connect(ctx, ours, nil)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", db, err)
	}
	defer func() { _ = ss.Close() }() // it ends with its client
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(ctx, theirs, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the server of %s: %w", db, err)
	}
	defer func() { _ = cs.Close() }()

	var made []Call
	todo := []Call{{Tool: "diagnose", Args: map[string]any{}}}
	for len(todo) > 0 && len(made) < MaxCalls {
		c := todo[0]
		a, err := ask(ctx, cs, c)
		if err != nil {
			return made, err
		}
		c.Finding = a.Finding
		made = append(made, c)
		if a.Finding != nil && done(a.Finding) {
			return made, nil
		}
		todo = todo[1:]
		if len(a.Next) > 0 { // what the last answer says to ask goes before what older ones did
			todo = nil
			for _, n := range a.Next {
				todo = append(todo, Call{Tool: n.Tool, Args: n.Args})
			}
		}
	}
	return made, nil
}

// ask makes a call. One that was suggested and fails is an error: the agent does
// not know better.
func ask(ctx context.Context, cs *mcp.ClientSession, c Call) (*answer, error) {
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: c.Args})
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.Tool, err)
	}
	if err := res.GetError(); err != nil {
		return nil, fmt.Errorf("call %s with %v: %w", c.Tool, c.Args, err)
	}
	if res.IsError {
		text, _ := json.Marshal(res.Content) // it came as JSON
		return nil, fmt.Errorf("call %s with %v: %s", c.Tool, c.Args, text)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.Tool, err)
	}
	a := new(answer)
	if err := json.Unmarshal(b, a); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.Tool, err)
	}
	return a, nil
}
