package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxServerRSS = 300 << 20 // bytes
	hugeMessage  = 900_000_000
)

// peakRSS is the most memory a process has had resident, in bytes.
func peakRSS(t *testing.T, pid int) uint64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var kb uint64
	if _, err := fmt.Sscanf(rest, "%d kB", &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// letters never end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// recordingOf makes a recording and returns it with its hash.
func recordingOf(t *testing.T) (path, hash string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.db")
	if err := writeIncident(path, time.Now().Add(-incidentLength)); err != nil {
		t.Fatal(err)
	}
	return path, fileHash(t, path)
}

// TestHostileCallersOverHTTPS has the server do all at once what it must withstand, while
// somebody else asks what agents ask.
func TestHostileCallersOverHTTPS(t *testing.T) {
	db, hash := recordingOf(t)
	s := serve(t, nil, "mcp", "--db", db, "--http", "127.0.0.1:0")
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for range 500 { // connections that say nothing
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	ctx, stop := context.WithCancel(t.Context())
	attacker, ended := s.client(), make(chan string)
	attacks := []string{
		"with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
		"select count(*) from calls a, calls b, calls c, calls d",
		"select printf('%.*c', 900000000, 'x')",
		"select length(zeroblob(900000000)), hex(zeroblob(900000000))",
	}
	for _, sql := range attacks {
		go func() {
			_, _ = attacker.CallTool(ctx, &mcp.CallToolParams{Name: "run_sql", Arguments: map[string]any{"sql": sql}})
			ended <- sql
		}()
	}
	body, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, io.LimitReader(letters{}, hugeMessage))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.http().Do(body); err == nil {
		if r.Body.Close(); r.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("900 MB: status %d", r.StatusCode)
		}
	} // else it hung up at once

	other := s.client()
	for _, tool := range []string{"get_trace_stats", "diagnose", "get_causal_chains"} {
		r, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
		if err != nil || r.IsError {
			t.Errorf("%s: %v %v", tool, r, err)
		}
	}
	running := len(attacks)
	for done := false; !done; {
		select {
		case <-ended:
			running--
		default:
			done = true
		}
	}
	if running == 0 {
		t.Error("the others were answered only after the attacks")
	}
	stop()
	for range running {
		<-ended
	}
	if n := peakRSS(t, s.cmd.Process.Pid); n > maxServerRSS {
		t.Errorf("%d MB were resident", n>>20)
	}
	if err := s.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if fileHash(t, db) != hash {
		t.Error("the recording has changed")
	}
}

// TestHostileAgentOnStandardInput sends 900 MB in a line, and other things that are no
// message.
func TestHostileAgentOnStandardInput(t *testing.T) {
	db, hash := recordingOf(t)
	cmd := exec.Command("ingero", "mcp", "--db", db)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !json.Valid(lines.Bytes()) || !strings.Contains(lines.Text(), want) {
			t.Fatalf("answer %.300q, want %s", lines.Text(), want)
		}
	}
	send := func(r ...io.Reader) {
		t.Helper()
		if _, err := io.Copy(in, io.MultiReader(append(r, strings.NewReader("\n"))...)); err != nil {
			t.Fatal(err)
		}
	}
	send(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"\u202e🜁","version":"1"}}}`))
	next(`"id":1,"result"`)
	send(strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_sql","arguments":{"sql":"`), io.LimitReader(letters{}, hugeMessage), strings.NewReader(`"}}}`))
	next("longer than")
	send(strings.NewReader("\x00\xff garbage"))
	next("-32700")
	send(strings.NewReader(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"diagnose","arguments":{"process":"\u0000\ud800'; drop table calls; --"}}}`))
	next(`"id":3`)
	send(strings.NewReader(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"diagnose","arguments":{}}}`))
	next("backup-agent")
	if n := peakRSS(t, cmd.Process.Pid); n > maxServerRSS {
		t.Errorf("%d MB were resident", n>>20)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if fileHash(t, db) != hash {
		t.Error("the recording has changed")
	}
}
