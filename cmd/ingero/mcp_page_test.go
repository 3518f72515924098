package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mcpPage = "docs/mcp.md"

// transcript is a block of a page: a recording, then calls, each behind "> " and
// followed by what it answers.
var transcript = regexp.MustCompile("(?s)```mcp (\\S+)\n(.*?)```\n")

// TestMCPPageHasTheCurrentAnswers makes the calls that the page shows, through the command
// itself, and compares. With -update it writes the answers into the page.
func TestMCPPageHasTheCurrentAnswers(t *testing.T) {
	t.Chdir("../..")
	b, err := os.ReadFile(mcpPage)
	if err != nil {
		t.Fatal(err)
	}
	text, calls := string(b), 0
	got := transcript.ReplaceAllStringFunc(text, func(block string) string {
		m := transcript.FindStringSubmatch(block)
		var shown []string
		for line := range strings.Lines(m[2]) {
			if strings.HasPrefix(line, "> ") {
				shown = append(shown, strings.TrimSpace(line))
			}
		}
		calls += len(shown)
		return "```mcp " + m[1] + "\n" + answers(t, m[1], shown) + "```\n"
	})
	if calls < 3 {
		t.Errorf("%s shows only %d calls", mcpPage, calls)
	}
	if *update {
		if err := os.WriteFile(mcpPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(text, got); d != "" {
		t.Errorf("%s differs from what is answered (-page +answered; -update writes it):\n%s", mcpPage, d)
	}
}

// answers has "ingero mcp" answer calls like `> tool {"argument": 1}`.
func answers(t *testing.T, db string, calls []string) string {
	t.Helper()
	var in, out bytes.Buffer
	in.WriteString(`{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}` + "\n")
	for i, c := range calls {
		tool, args, _ := strings.Cut(strings.TrimPrefix(c, "> "), " ")
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i, tool,
			args)
	}
	root := newRoot(&console{
		in: &in, out: &out, err: io.Discard, env: func(string) string { return "" },
		now: func() time.Time { return time.Date(2026, 11, 21, 18, 30, 0, 0, time.UTC) }, // soon after the recording
	})
	root.SetArgs([]string{"mcp", "--db", db})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := make([]string, len(calls))
	for dec := json.NewDecoder(&out); dec.More(); {
		var r struct {
			ID     int
			Result struct{ StructuredContent json.RawMessage }
		}
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.ID < 0 {
			continue
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, r.Result.StructuredContent, "", "  "); err != nil {
			t.Fatalf("%s: %v", calls[r.ID], err)
		}
		text[r.ID] = calls[r.ID] + "\n" + pretty.String() + "\n"
	}
	return strings.Join(text, "")
}

// mcpSetUp is how a program is configured to start the server.
type mcpSetUp struct {
	Command string
	Args    []string
}

// TestMCPSetUpsAreRight checks the set-ups of the page and of the repository: they are
// JSON, and start a command that there is.
func TestMCPSetUpsAreRight(t *testing.T) {
	page, err := os.ReadFile("../../" + mcpPage)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("../../.mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	blocks := [][]byte{own}
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	started := 0
	for _, b := range blocks {
		var setUp struct{ MCPServers, Servers map[string]mcpSetUp }
		if err := json.Unmarshal(b, &setUp); err != nil {
			t.Errorf("%v in %s", err, b)
		}
		for _, servers := range []map[string]mcpSetUp{setUp.MCPServers, setUp.Servers} {
			for _, s := range servers {
				if s.Command == "" {
					continue // over HTTPS
				}
				started++
				cmd, rest, err := newRoot(&console{env: os.Getenv}).Find(s.Args)
				if err != nil || cmd.Name() != "mcp" || cmd.ParseFlags(rest) != nil {
					t.Errorf("%s %v: %v", s.Command, s.Args, err)
				}
			}
		}
	}
	if started < 3 {
		t.Errorf("only %d set-ups found", started)
	}
	var setUp struct{ MCPServers struct{ Ingero mcpSetUp } }
	if err := json.Unmarshal(own, &setUp); err != nil {
		t.Fatal(err)
	}
	args := setUp.MCPServers.Ingero.Args
	if _, err := os.Stat("../../" + args[len(args)-1]); err != nil {
		t.Errorf(".mcp.json: %v", err)
	}
}
