package mcptool_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/serve/mcptool"
)

// childEnv makes this test program a server of the recording it names.
const childEnv = "INGERO_TEST_MCP_CHILD"

func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	s := mcptool.NewServer(source.New(path), mcptool.Options{SQLTime: childSQLTime})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// childSQLTime is how long a statement may run in the child.
const childSQLTime = 400 * time.Millisecond

// What a server may cost whatever it is asked, and how soon, by the time it is on CPUs,
// it answers a plain question meanwhile.
const (
	maxMemoryKB = 300 << 10
	maxAnswer   = 100 * time.Millisecond
	maxAsked    = 5000 // tokens of an answer, also to who asks for a thousand frames of each stack
)

// hostile are statements and arguments that mean harm. They may be refused, ended
// or answered; the server goes on.
func hostile() []mcp.CallToolParams {
	sql := []string{
		"with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
		"with recursive r(n) as (select 1 union all select n + 1 from r) select * from r where n < 0",
		"select count(*) from events a, events b, events c, events d",
		"select * from events a, events b, events c order by a.duration + b.duration",
		"select group_concat(a.comm || b.comm) from threads a, threads b, threads c, events d",
		"attach database '/tmp/evil.db' as evil", "attach ':memory:' as m", "detach main",
		"pragma journal_mode = delete", "pragma writable_schema = 1", "pragma hard_heap_limit = 1", "pragma query_only = off",
		"select load_extension('/tmp/evil.so')", "select writefile('/tmp/evil', 'x')", "select readfile('/etc/passwd')",
		"select printf('%.*c', 900000000, 'x')", "select zeroblob(900000000)", "select hex(zeroblob(200000000))",
		"select replace(hex(zeroblob(60000)), '0', hex(zeroblob(60000)))",
		"delete from call", "update session set node = 'x'", "drop table call", "insert into meta values ('a', 'b')",
		"create table t (a)",
		"vacuum", "vacuum into '/tmp/evil.db'", "begin exclusive", "select 1; delete from call", "reindex", "analyze",
		"select '" + strings.Repeat("x", 1<<20) + "'",
		"select " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"select " + strings.Repeat("printf('%.*c', 262144, 'x'), ", 500) + "1",
		"select 1 where '" + strings.Repeat("a", 5000) + "' like '" + strings.Repeat("%a", 2000) + "%b'",
		"", ";;;", "\x00", "select \u202e'\U000E0041'", "seléct * fröm events", "--", "/*",
	}
	var list []mcp.CallToolParams
	for _, s := range sql {
		list = append(list, mcp.CallToolParams{Name: "run_sql", Arguments: map[string]any{"sql": s}})
	}
	for tool, args := range map[string]map[string]any{
		"diagnose": {"finding": strings.Repeat("x", 100_000)}, "get_trace_stats": {"pid": 1 << 40},
		"get_causal_chains": {"since": "99999999999999999999h"},
		"get_stacks":        {"limit": -1 << 62, "frames": 1 << 62},
		"graph_lifecycle":   {"cursor": "999999999999999999999.ffffffff"},
		"graph_frequency":   {"process": "'; drop table call; --"}, "run_demo": {"scenario": "../../etc/passwd"},
		"query_fleet": {"action": nil}, "get_test_report": {"cursor": "-1.0"},
		"get_check": {"extra": map[string]any{"a": []any{}}}, "no_such_tool": {},
	} {
		list = append(list, mcp.CallToolParams{Name: tool, Arguments: args})
	}
	for _, since := range []string{"-5m", "NaN", "0s", "//", "2026-01-01/", "/1", "9223372036854775807", "\u202e5m"} {
		list = append(list, mcp.CallToolParams{Name: "diagnose", Arguments: map[string]any{"since": since}})
	}
	return list
}

func TestHostileInputsHarmNothing(t *testing.T) {
	path := manyProcesses(t)
	before := hash(t, path)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "attacker"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	must(t, err)
	defer cs.Close()
	call(t, cs, "diagnose", map[string]any{}, nil) // what is read the first time takes longer
	for _, h := range hostile() {
		before := worked(t, cmd.Process.Pid)
		res, err := cs.CallTool(t.Context(), &h)
		took := worked(t, cmd.Process.Pid) - before
		b, _ := json.Marshal(h.Arguments)
		what := fmt.Sprintf("%s %.80s", h.Name, b)
		if err != nil && h.Name != "no_such_tool" {
			t.Fatalf("%s: the server is gone: %v", what, err)
		}
		if took > 5*childSQLTime {
			t.Errorf("%s took %s of work", what, took)
		}
		if n := tokens(t, res); n > maxAsked {
			t.Errorf("%s is answered in %d tokens", what, n)
		}
	}
	checkMeanwhile(t, cs, cmd.Process.Pid)
	kb := peakKB(t, cmd.Process.Pid)
	if t.Logf("%d inputs, %d MB at most", len(hostile()), kb>>10); kb > maxMemoryKB {
		t.Errorf("the server took %d MB at most", kb>>10)
	}
	if hash(t, path) != before {
		t.Error("the recording has changed")
	}
	if left, _ := os.ReadDir("/tmp/evil.db"); left != nil {
		t.Error("a statement made a file")
	}
}

// worked is how long a process has been on CPUs: the clock that a machine busy with
// other things does not turn.
func worked(t *testing.T, pid int) time.Duration {
	t.Helper()
	var ts unix.Timespec
	must(t, unix.ClockGettime(int32(^pid<<3|2), &ts)) // clock_getcpuclockid(3): CPUCLOCK_SCHED
	return time.Duration(ts.Nano())
}

// asked is how many plain questions are asked while statements run.
const asked = 60

// checkMeanwhile asks something plain again and again while statements run that
// would never end. The server computes all the time then: had a question to wait for
// it, that would be in the server's own time until the answer, however much of the
// machine others take.
func checkMeanwhile(t *testing.T, cs *mcp.ClientSession, pid int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				_, _ = cs.CallTool(ctx, &mcp.CallToolParams{Name: "run_sql", Arguments: map[string]any{
					"sql": "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
				}})
			}
		})
	}
	for idle := worked(t, pid); worked(t, pid) < idle+childSQLTime/4; { // until they run
		time.Sleep(time.Millisecond)
	}
	var took, wall []time.Duration
	for range asked {
		before, began := worked(t, pid), time.Now()
		call(t, cs, "get_trace_stats", map[string]any{}, nil)
		took, wall = append(took, worked(t, pid)-before), append(wall, time.Since(began))
	}
	stop()
	busy.Wait()
	slices.Sort(took)
	slices.Sort(wall)
	late := took[asked*95/100] // what 95 of 100 stay below: the collector's work may fall into one
	t.Logf("%d questions meanwhile: the server worked for %s until the answer at the median, %s at most; by the clock "+
		"%s and %s",
		asked, took[asked/2], took[asked-1], wall[asked/2], wall[asked-1])
	if late > maxAnswer {
		t.Errorf("plain questions were answered after %s of work while statements ran", late)
	}
}

func hash(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return sha256.Sum256(b)
}

// peakKB is the most memory a process had resident.
func peakKB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

func TestInstructionsInNamesStayData(t *testing.T) {
	cs := connect(t, manyProcesses(t), mcptool.Options{})
	for _, tool := range []string{"diagnose", "get_causal_chains", "get_trace_stats", "get_stacks"} {
		res := call(t, cs, tool, map[string]any{}, nil)
		text := textOf(res)
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: not JSON: %s", tool, text)
		}
		if strings.ContainsAny(text, "\u202e\U000E0041\n") {
			t.Errorf("%s shows characters that cannot be seen", tool)
		}
		outside, rest := "", text
		for {
			before, after, ok := strings.Cut(rest, "«")
			outside += before
			if !ok {
				break
			}
			_, rest, _ = strings.Cut(after, "»")
		}
		if strings.Contains(outside, "ignore all") || !strings.Contains(text, "«") {
			t.Errorf("%s tells a name outside of quotation marks: %s", tool, outside)
		}
		if fields, _ := res.Meta[mcptool.DataMeta].([]any); len(fields) == 0 {
			t.Errorf("%s does not say which fields are data: %v", tool, res.Meta)
		}
	}
}
