package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/internal/hostile/statement"
)

// asked is a program whose tool is asked statements in SQL over MCP.
type asked struct {
	client    *mcp.ClientSession
	list      string // the file of attacks
	tool      string
	harmless  string // a statement that is answered
	recording string // a file that must not change; empty: there is none
	sum       [sha256.Size]byte
	memory    *memory
	closing   func() (peak uint64, printed string, err error)
}

func (s *asked) Attacks() ([]Attack, error) {
	if s.list == sqlite {
		return statements()
	}
	return List(s.list)
}

// sqlite is the file of attacks by SQL on recordings.
const sqlite = "sql"

// statements are the attacks by SQL on recordings: those of the file, and those that package statement has for tests.
func statements() ([]Attack, error) {
	list, err := List(sqlite)
	for i, s := range statement.All() {
		if len(s) <= longestStatement {
			list = append(list, Attack{Name: fmt.Sprintf("statement %d: %.60q", i+1, s), Input: []byte(s)})
		}
	}
	return list, err
}

// longestStatement is the longest that is sent, in bytes: a client of MCP ends its session at the error that a longer
// message gets.
const longestStatement = 200 << 10

func (s *asked) Try(ctx context.Context, a Attack) (Outcome, error) {
	r, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: map[string]any{"sql": string(a.Input)}})
	if err != nil {
		return Outcome{}, fmt.Errorf("the session does not answer: %w", err)
	}
	b, err := json.Marshal(r)
	return Outcome{Refused: r.IsError, Said: string(b)}, err
}

func (s *asked) Healthy(ctx context.Context) error {
	r, err := s.client.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: map[string]any{"sql": s.harmless}})
	switch {
	case err != nil:
		return err
	case r.IsError:
		return fmt.Errorf("%q is an error", s.harmless)
	}
	return nil
}

func (s *asked) Peak() uint64 { return s.memory.since() }

func (s *asked) Close() (uint64, string, error) {
	_ = s.client.Close() // that it has ended already is found below
	peak, printed, err := s.closing()
	if s.recording != "" {
		if sum, again := sumOf(s.recording); again != nil || sum != s.sum {
			err = errors.Join(err, fmt.Errorf("the recording has changed (%w)", again))
		}
	}
	return peak, printed, err
}

func sumOf(path string) ([sha256.Size]byte, error) {
	b, err := os.ReadFile(path)
	return sha256.Sum256(b), err
}

func client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "hostile", Version: "1"}, nil)
}

// startMCPSQL asks "ingero mcp" over its standard input.
func startMCPSQL(ctx context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("mcp-sql")
	if err != nil {
		return nil, err
	}
	s := &asked{list: sqlite, tool: "run_sql", harmless: "select 1"}
	if s.recording, err = p.recording(dir); err != nil {
		return nil, err
	}
	if s.sum, err = sumOf(s.recording); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.path("ingero"), "mcp", s.recording)
	cmd.Dir, cmd.Env = dir, environment(dir)
	var said tail
	cmd.Stderr = &said
	if s.client, err = client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		return nil, fmt.Errorf("start ingero mcp: %w", err)
	}
	s.memory = watch(cmd.Process.Pid)
	s.closing = func() (uint64, string, error) { return s.memory.stop(), said.String(), nil }
	return s, nil
}

func startEchoSQL(ctx context.Context, p *Programs) (Trier, error) {
	e, at, err := startEcho(ctx, p, "echo-sql")
	if err != nil {
		return nil, err
	}
	ready := func() bool { return get(ctx, nil, "http://"+at.health+"/readyz") == nil }
	if err := until(ctx, e, "Echo", ready); err != nil {
		_, _, _ = e.close()
		return nil, err
	}
	s := &asked{
		list: "echo_sql", tool: "fleet.cluster.run_analysis", harmless: "select 1 as one", memory: e.memory, closing: e.close,
	}
	s.client, err = client().Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + at.api + mcpPath, HTTPClient: http.DefaultClient, MaxRetries: -1,
	}, nil)
	if err != nil {
		_, _, _ = e.close()
		return nil, fmt.Errorf("begin a session with Echo: %w", err)
	}
	return s, nil
}

// queried runs "ingero query" for each statement.
type queried struct {
	p    *Programs
	dir  string
	db   string
	peak uint64
}

func startQuery(_ context.Context, p *Programs) (Trier, error) {
	dir, err := p.home("query")
	if err != nil {
		return nil, err
	}
	db, err := p.recording(dir)
	return &queried{p: p, dir: dir, db: db}, err
}

func (q *queried) Attacks() ([]Attack, error) { return statements() }

func (q *queried) Try(ctx context.Context, a Attack) (Outcome, error) {
	if len(a.Input) > 128<<10 || strings.ContainsRune(string(a.Input), 0) {
		return Outcome{Refused: true}, nil // no argument can be so long, or have a zero
	}
	peak, said, err := oneShot(ctx, q.dir, q.p.path("ingero"), "query", q.db, string(a.Input))
	q.peak = max(q.peak, peak)
	return judgeExit(said, peak, err)
}

func (q *queried) Healthy(ctx context.Context) error {
	_, said, err := oneShot(ctx, q.dir, q.p.path("ingero"), "query", q.db, "select 1")
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	if left, _ := filepath.Glob(filepath.Join(q.dir, "*.db?*")); len(left) > 0 {
		return fmt.Errorf("there are new files: %q", left)
	}
	return nil
}

func (q *queried) Close() (uint64, string, error) { return q.peak, "", nil }
