package straggler

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/netns"
)

// echoEnv names the folder of the programs: make test-echo-live builds them.
const echoEnv = "INGERO_ECHO_LIVE"

// earlierEnv is set if their tracers are of an earlier version, which did not send the process at the end of a chain:
// the culprit is only in the finding's words.
const earlierEnv = "INGERO_ECHO_EARLIER"

// recordEnv names the file for what the collector passes on to Echo, which "ingero-echo demo" plays back: make
// record-echo-demo.
const recordEnv = "INGERO_ECHO_RECORD"

// recordFor is how long what is recorded goes on after Echo was right.
const recordFor = 2 * time.Minute

// The published story: of eight ranks on two hosts one is late in every 14th step, as another program has its CPU.
const (
	echoEvery, echoLateMS = 14, 290
	echoToken             = "a-token-1234"
	nodeToken             = "a-token-of-the-nodes"
)

// echo is the cluster's memory, which runs.
type echo struct {
	t   *testing.T
	lab *lab
	at  map[string]string // what it listens for, and where
}

// startEcho starts it, and Fleet's collector, which sends it what agents send; port is the collector's.
func startEcho(t *testing.T, l *lab, programs string) (e *echo, port string) {
	t.Helper()
	e = &echo{t: t, lab: l, at: map[string]string{}}
	e.start([]string{"INGERO_ECHO_TOKEN=" + echoToken}, filepath.Join(programs, "ingero-echo"), "serve",
		"--db-path", filepath.Join(l.dir, "echo.db"), "--otlp-addr", "127.0.0.1:0", "--otlp-http-addr", "127.0.0.1:0",
		"--mcp-addr", "127.0.0.1:0", "--health-addr", "127.0.0.1:0")
	ports := make([]string, 6)
	var taken []net.Listener
	for i := range ports {
		s, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, s)
		if _, ports[i], err = net.SplitHostPort(s.Addr().String()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range taken { // when all have been chosen: their ports are all that was wanted
		_ = s.Close()
	}
	exporters := "otlp_grpc"
	if os.Getenv(recordEnv) != "" {
		exporters += ", file"
	}
	e.start([]string{
		"INGERO_FLEET_GRPC=0.0.0.0:" + ports[0], "INGERO_FLEET_HTTP=127.0.0.1:" + ports[1],
		"INGERO_FLEET_API=127.0.0.1:" + ports[2], "INGERO_FLEET_HEALTH=127.0.0.1:" + ports[3],
		"INGERO_FLEET_PROMETHEUS=127.0.0.1:" + ports[4], "INGERO_FLEET_METRICS_PORT=" + ports[5],
		"INGERO_FLEET_EXPORTERS=[" + exporters + "]", "INGERO_FLEET_OTLP=" + e.at["OTLP over gRPC"], "INGERO_FLEET_OTLP_TOKEN=" + echoToken,
		"INGERO_FLEET_FILE=" + filepath.Join(l.dir, passedOn),
	}, filepath.Join(programs, "ingero-fleet-collector"), "--config", "../../collector/config/ingero-fleet.yaml")
	return e, ports[0]
}

// passedOn is the file of what the collector passes on, a request a line.
const passedOn = "passed-on.jsonl"

// record keeps that file, compressed, if the test passed. The collector has ended.
func record(t *testing.T, l *lab, to string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if parts, err := filepath.Glob(filepath.Join(l.dir, "passed-on*")); err != nil || len(parts) != 1 {
		t.Fatalf("the collector wrote more than one file holds: %v, %v", parts, err)
	}
	text, err := os.ReadFile(filepath.Join(l.dir, passedOn))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d requests, %d bytes, %d compressed", to, bytes.Count(text, []byte("\n")), len(text), b.Len())
}

// start starts a program that ends with the test.
func (e *echo) start(env []string, args ...string) {
	e.t.Helper()
	p, err := e.lab.start(context.WithoutCancel(e.t.Context()), nil, append(append([]string{"env"}, env...), args...)...)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := p.stop(); err != nil {
			e.t.Error(err)
		}
		if e.t.Failed() {
			e.t.Log(strings.Join(p.printed(), "\n"))
		}
	})
	if filepath.Base(args[0]) != "ingero-echo" {
		return
	}
	for what, text := range map[string]string{"OTLP over gRPC": `"OTLP over gRPC"`, "questions": "questions"} {
		rest, err := p.after(e.t.Context(), "listening for="+text+" at=")
		if err != nil {
			e.t.Fatal(err)
		}
		e.at[what] = strings.Fields(rest)[0]
	}
}

// ask returns the rows of an answer.
func (e *echo) ask(sql string) (rows [][]any) {
	e.t.Helper()
	var answer struct{ Rows [][]any }
	e.post("sql", map[string]string{"sql": sql}, &answer)
	return answer.Rows
}

// post asks, and reads the answer.
func (e *echo) post(path string, question, answer any) {
	e.t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, "http://"+e.at["questions"]+"/api/v1/"+path,
		bytes.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+echoToken)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := json.Unmarshal(b, answer); err != nil || a.StatusCode != http.StatusOK {
		e.t.Fatalf("%s: %s: %v", a.Status, b, err)
	}
}

// until waits until an answer is right.
func (e *echo) until(what, sql string, right func(rows [][]any) bool) (rows [][]any) {
	e.t.Helper()
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if rows = e.ask(sql); right(rows) {
			return rows
		}
	}
	e.t.Fatalf("not so: %s: %v", what, rows)
	return nil
}

// TestEchoNamesTheLateRank traces eight ranks on two hosts, and asks Echo which one is late.
func TestEchoNamesTheLateRank(t *testing.T) {
	programs := os.Getenv(echoEnv)
	if programs == "" {
		t.Skip(echoEnv + " is not set: make test-echo-live builds what this needs, and runs it")
	}
	kerneltest.Require(t)
	programs, err := filepath.Abs(programs)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLab(t.Context(), &Options{Ingero: filepath.Join(programs, "ingero")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	recorded := os.Getenv(recordEnv)
	if recorded != "" {
		t.Cleanup(func() { record(t, l, recorded) }) // after those of startEcho, which end the collector
	}
	e, port := startEcho(t, l, programs)
	m := &cell{l: l, c: &Case{late: "cpu"}, dir: l.dir, alone: true}
	pids, err := m.startJob(t.Context(), "--late-ms", strconv.Itoa(echoLateMS), "--every", strconv.Itoa(echoEvery),
		"--read-us", "60000", "--gpu-us", "10000", "--jitter", "2")
	if err != nil {
		t.Fatal(err)
	}
	for n, ns := range l.nodes {
		to, per := "grpc://"+net.JoinHostPort(ns.Address, port), ranks/nodes
		m.tracers[n], err = l.start(t.Context(), ns, "env", "INGERO_NODE_TOKEN="+nodeToken, l.o.Ingero, "trace", "--json",
			"--node", nodeName(n), "--db", m.file(fmt.Sprint(n, ".db")), "--pid", strings.Join(pids[n*per:(n+1)*per], ","),
			"--cluster", cluster, "--fleet", to, "--otlp", to, "--dashboard", ownAddress(ns))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.tracers[n].after(t.Context(), `"type":"start"`); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(m.file("gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// As soon as the job runs: the ranks are calibrated later, which Echo does not need.
	e.until("there are operations of all ranks, and it is known what is usual",
		"select count(distinct rank) from collectives where usual_own_ms > 0", func(rows [][]any) bool {
			return rows[0][0].(float64) == ranks
		})
	began := time.Now()
	if err := os.WriteFile(m.file("late"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const lateOnes = `
		with entered as (
			select comm_id_hash, seq, rank, node_id, min(enter_ns) as enter_ns from collectives group by all),
		placed as (
			select *, row_number() over (partition by comm_id_hash, seq order by enter_ns desc) as place,
				enter_ns - lead(enter_ns) over (partition by comm_id_hash, seq order by enter_ns desc) as late_ns,
				count(*) over (partition by comm_id_hash, seq) as ranks
			from entered)
		select rank, node_id, seq, late_ns / 1e6 from placed
		where place = 1 and ranks = 8 and late_ns > 50e6 order by seq`
	rows := e.until("rank 5 is late three times", lateOnes, func(rows [][]any) bool { return len(rows) >= 3 })
	t.Logf("after %s", time.Since(began).Round(time.Second))
	e.asksNode(e.findsStragglers(began), ownAddress(l.nodes[1]))
	if recorded != "" {
		time.Sleep(recordFor)
	}
	truth, err := m.close()
	if err != nil {
		t.Fatal(err)
	}
	before := 0.0
	for _, r := range rows {
		ms, seq := r[3].(float64), r[2].(float64)
		if r[0].(float64) != late || r[1] != nodeName(1) || ms < echoLateMS*0.95 || ms > echoLateMS*1.05 ||
			before > 0 && int(seq-before)%echoEvery != 0 {
			t.Errorf("rank, node, operation and ms are %v", r)
		}
		before = seq
	}
	if !slices.ContainsFunc(truth.LateNS, func(ns int64) bool { return ns > echoLateMS*0.95e6 }) {
		t.Errorf("the rank was late by %v ns", truth.LateNS)
	}
	e.blames(m, pids[late])
}

// ownAddress is where a node serves its recording.
func ownAddress(ns *netns.Namespace) string {
	return net.JoinHostPort(ns.Inside, "8080")
}

// nextQuestion is what an answer says to ask next, and at which node.
type nextQuestion struct {
	Tool, At  string
	Arguments map[string]any
}

// findsStragglers asks as an AI agent would, until the answer says who, how late, how often, and why. It returns the
// next question.
func (e *echo) findsStragglers(began time.Time) *nextQuestion {
	e.t.Helper()
	type straggler struct {
		Node        string `json:"node_id"`
		Rank        int
		Collectives struct {
			LateMS float64 `json:"late_ms"`
			Every  int64
			Before map[string]float64 `json:"before_ms"`
		}
		Why struct{ Kind, Culprit, Finding string }
	}
	var answer struct {
		Result struct {
			Stragglers []straggler
			Next       []nextQuestion
		}
	}
	why := func(s *straggler) bool {
		culprit := s.Why.Culprit
		if os.Getenv(earlierEnv) != "" && culprit == "" &&
			strings.Contains(s.Why.Finding, "it waited for a CPU that backup-agent") {
			culprit = "backup-agent"
		}
		return s.Why.Kind == "cpu_contention" && culprit == "backup-agent"
	}
	var raw json.RawMessage
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(time.Second) {
		e.post("tools/fleet.cluster.find_stragglers", map[string]any{"window": "10m"}, &raw)
		answer.Result.Stragglers, answer.Result.Next = nil, nil
		if err := json.Unmarshal(raw, &answer); err != nil {
			e.t.Fatalf("%s: %v", raw, err)
		}
		if list := answer.Result.Stragglers; len(list) > 0 && list[0].Collectives.Every > 0 && why(&list[0]) {
			break
		}
	}
	e.t.Logf("asked after %s: %s", time.Since(began).Round(time.Second), raw)
	list := answer.Result.Stragglers
	if len(list) != 1 {
		e.t.Fatalf("%d ranks are blamed", len(list))
	}
	s, least, most := &list[0], echoLateMS*0.95, echoLateMS*1.05
	if s.Rank != late || s.Node != nodeName(1) || s.Collectives.LateMS < least || s.Collectives.LateMS > most ||
		s.Collectives.Every != echoEvery {
		e.t.Errorf("blamed is rank %d of %s, %+v", s.Rank, s.Node, s.Collectives)
	}
	if !why(s) || s.Collectives.Before["runq"] < least {
		e.t.Errorf("why is %+v, and before it waited for %v", s.Why, s.Collectives.Before)
	}
	if next := answer.Result.Next; len(next) == 0 || next[0].Tool != "diagnose" {
		e.t.Fatalf("the next question is not to the node: %+v", next)
	}
	return &answer.Result.Next[0]
}

// ofNode lets a client in at a node. The certificate is the node's own.
type ofNode struct{ http.Transport }

func (o *ofNode) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+nodeToken)
	return o.Transport.RoundTrip(r)
}

// asksNode asks the late rank's node for what its own recording shows: over HTTP, and the next question as it is.
func (e *echo) asksNode(q *nextQuestion, want string) {
	e.t.Helper()
	if q.At != want {
		e.t.Fatalf("the next question is to %q, not to %s", q.At, want)
	}
	client := &http.Client{Transport: &ofNode{http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, "https://"+q.At+"/api/v1/chains", nil)
	if err != nil {
		e.t.Fatal(err)
	}
	a, err := client.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		e.t.Fatalf("the node answers %s: %.2000s, %v", a.Status, b, err)
	}
	var chains struct {
		Chains []struct {
			Summary string
			Stack   []string
		}
	}
	if err := json.Unmarshal(b, &chains); err != nil {
		e.t.Fatal(err)
	}
	stack := false
	for _, c := range chains.Chains {
		stack = stack || strings.Contains(c.Summary, "backup-agent") && len(c.Stack) > 0
	}
	if !stack {
		e.t.Errorf("the node has no stack of a wait for backup-agent: %.3000s", b)
	}
	if os.Getenv(earlierEnv) == "" { // that one serves agents elsewhere
		e.asksTool(client, q)
	}
}

// asksTool asks the next question as an AI agent does.
func (e *echo) asksTool(client *http.Client, q *nextQuestion) {
	e.t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(e.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: "https://" + q.At + "/mcp", HTTPClient: client, MaxRetries: -1}, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	defer s.Close()
	answer, err := s.CallTool(e.t.Context(), &mcp.CallToolParams{Name: q.Tool, Arguments: q.Arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	if b, err := json.Marshal(answer); err != nil || answer.IsError || !bytes.Contains(b, []byte("backup-agent")) {
		e.t.Errorf("%s of the node answers %s, %v", q.Tool, b, err)
	}
}

// saysHowLate finds the rank's lateness in a finding.
var saysHowLate = regexp.MustCompile(`which entered \w+ (\S+) (\S+) late`)

// littleLost is the most that a rank may lose by another one than the late rank, in percent: a third of what it loses
// by that.
const littleLost = 5

// wasLate checks a finding about another rank than the late one: a sleep may last longer on a busy machine. The
// recording of its node must show that it entered so late, and the finding that little was lost by it.
func (e *echo) wasLate(m *cell, pid, lost float64, summary string) {
	e.t.Helper()
	by := saysHowLate.FindStringSubmatch(summary)
	if by == nil || lost > littleLost {
		e.t.Fatalf("blamed is another one: %s", summary)
	}
	median, err := time.ParseDuration(by[1] + by[2])
	if err != nil {
		e.t.Fatal(err)
	}
	times := 0
	for n := range nodes {
		sql := fmt.Sprintf("select count(*) as n from collective_arrivals where last_pid = %.0f and late_ns >= %d", pid,
			int64(0.98*float64(median))) // it is rounded in the finding
		out, err := exec.CommandContext(e.t.Context(), e.lab.o.Ingero, "query", "--format", "json",
			"--db", m.file(fmt.Sprint(n, ".db")), sql).Output()
		if err != nil {
			e.t.Fatal(err)
		}
		var rows []struct{ N int }
		if err := json.Unmarshal(out, &rows); err != nil {
			e.t.Fatalf("%s: %v", out, err)
		}
		times += rows[0].N
	}
	e.t.Logf("so late %d times: %s", times, summary)
	if times == 0 {
		e.t.Errorf("it never was so late: %s", summary)
	}
}

// blames checks what Echo knows of why: that of all ranks the late one is waited for, and for whom it waits.
func (e *echo) blames(m *cell, pid string) {
	e.t.Helper()
	named := false
	for _, r := range e.ask("select cause_pid, summary, lost_pct from findings where cause = 'collective_straggler'") {
		if pid := number(e.t, pid); r[0].(float64) != pid {
			e.wasLate(m, r[0].(float64), r[2].(float64), r[1].(string))
		}
		named = named || strings.Contains(r[1].(string), "it waited for a CPU that backup-agent")
	}
	if !named {
		e.t.Error("who had the late rank's CPU is not named")
	}
	// What travels with the late operation itself.
	sent := e.ask(`select rank, json_extract_string(attrs_json, '$."ingero.collective.before.runq_ms"')::double
		from events where json_extract_string(attrs_json, '$."ingero.collective.why"') = 'late'
			and json_extract_string(attrs_json, '$."ingero.collective.own_ms"')::double > 200`)
	if len(sent) < 3 {
		e.t.Errorf("%d late operations were sent", len(sent))
	}
	for _, r := range sent {
		if r[0].(float64) != late || r[1].(float64) < echoLateMS*0.95 {
			e.t.Errorf("rank and ms in the run queue are %v", r)
		}
	}
	// Sums have every operation of every rank once: as many as it has entered.
	sums := e.ask(`select rank, sum(value), max(nccl_seq) from (
		select rank, value, null as nccl_seq from events where metric_name = 'ingero.collective.operations'
		union all select rank, 0, seq from collectives) group by rank order by rank`)
	if len(sums) != ranks {
		e.t.Errorf("there are sums of %d ranks", len(sums))
	}
	for _, r := range sums {
		// The newest single operation is of two seconds at most before the end.
		if n, last := r[1].(float64), r[2].(float64); n < last || n > last+64 {
			e.t.Errorf("rank %v: %v operations, and the newest that was sent has the number %v", r[0], n, last)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
