// Package fleetlive has no code: its test runs the programs of a fleet as they are run on nodes, which are
// network namespaces here.
package fleetlive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/netns"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/internal/servetest"
)

// program is a program that runs until the test ends it.
type program struct {
	cmd   *exec.Cmd
	ended chan error

	out, err servetest.Buffer
}

// start starts a program in a network namespace, or in the test's own.
func start(t *testing.T, in *netns.Namespace, env []string, args ...string) *program {
	t.Helper()
	p := &program{ended: make(chan error, 1)}
	if in != nil {
		args = in.In(args...)
	}
	p.cmd = exec.CommandContext(t.Context(), args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 20 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(p.stop)
	return p
}

// stop ends the program, and waits for it. It may be called twice.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	p.ended <- <-p.ended
}

func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// namespace makes a node.
func namespace(t *testing.T, n int) *netns.Namespace {
	t.Helper()
	ns, err := netns.New(t.Context(), n, fmt.Sprintf("10.213.%d", 77+n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ns.Close(); err != nil {
			t.Error(err)
		}
	})
	return ns
}

// job starts ranks that wait for a file, and returns their processes.
func job(t *testing.T, dir string, args ...string) (run *cudastub.RanksRun, pids []string, begin func()) {
	t.Helper()
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	gate := filepath.Join(dir, "gate")
	run, err = files.StartRanks(t.Context(), cudastub.Options{}, append([]string{"--dir", dir, "--gate", gate}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Begin(); err != nil {
		t.Fatal(err)
	}
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", run.PID())
	for range 500 {
		b, err := os.ReadFile(children)
		if err != nil {
			t.Fatal(err)
		}
		if pids = strings.Fields(string(b)); len(pids) == ranks && named(pids) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return run, pids, func() {
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// named reports whether all ranks have got so far as to have their names.
func named(pids []string) bool {
	for _, pid := range pids {
		if b, err := os.ReadFile("/proc/" + pid + "/comm"); err != nil || !strings.HasPrefix(string(b), "rank-") {
			return false
		}
	}
	return true
}

// build builds the programs into a folder.
func build(t *testing.T, bin string) {
	t.Helper()
	for _, p := range []string{"./cmd/ingero", "./cluster/cmd/ingero-fleet", "./cluster/cmd/straggler-sink"} {
		command(t, "go", "-C", "../../..", "build", "-o", bin, p)
	}
}

const (
	ranks = 8
	late  = 5
)

// Eight ranks, four on each of two nodes; one begins to write to a disk in each step. Its tracer reports it, with
// the cause, and no other rank is reported. The fleet's status, the tracer's and the sink's metrics say the same, and
// so does what follows the recordings.
func TestTheSlowRankOfTwoNodesIsReported(t *testing.T) {
	kerneltest.Require(t)
	bin := t.TempDir()
	build(t, bin)
	dir, err := rig.Folder("ingero-fleet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	token := []string{"INGERO_FLEET_TOKEN=secret", "HOME=" + dir}
	fleet := start(t, nil, token, filepath.Join(bin, "ingero-fleet"), "serve", "--insecure", "--listen", "0.0.0.0:0", "--grpc",
		"0.0.0.0:0")
	ports := map[string]string{}
	for _, scheme := range []string{"http", "grpc"} {
		address := fleet.err.After(t, scheme+"://")
		ports[scheme] = address[strings.LastIndexByte(address, ':'):]
	}
	run, pids, begin := job(t, dir, "--ranks", fmt.Sprint(ranks), "--steps", "1800", "--host-us", "1000", "--gpu-us", "16000",
		"--fifo", "1", "--late", "disk", "--late-rank", fmt.Sprint(late), "--late-ms", "8", "--late-from", "1000")
	if len(pids) != ranks {
		t.Fatalf("%d ranks", len(pids))
	}
	var tracers []*program
	sockets := []string{filepath.Join(dir, "a.sock"), filepath.Join(dir, "b.sock")}
	for n, scheme := range []string{"http", "grpc"} { // a node by each
		ns := namespace(t, n)
		per := ranks / 2
		p := start(t, ns, token, filepath.Join(bin, "ingero"), "trace", "--json", "--node", "node-"+string(rune('a'+n)),
			"--db", filepath.Join(dir, fmt.Sprint(n, ".db")), "--pid", strings.Join(pids[n*per:(n+1)*per], ","),
			"--cluster", "east", "--fleet", scheme+"://"+ns.Address+ports[scheme], "--events="+sockets[n])
		tracers = append(tracers, p)
	}
	for _, p := range tracers {
		p.out.After(t, `"type":"start"`)
	}
	var pushers []*program
	for n := range tracers { // as another cluster
		pushers = append(pushers, start(t, nil, token, filepath.Join(bin, "ingero"), "fleet-push", "--json", "--cluster", "split",
			"--db", filepath.Join(dir, fmt.Sprint(n, ".db")), "--fleet", "http://127.0.0.1"+ports["http"]))
	}
	sink := start(t, nil, nil, filepath.Join(bin, "straggler-sink"), "--listen", "127.0.0.1:0", "--socket-path",
		strings.Join(sockets, ","))
	url := sink.err.After(t, "url=")
	begin()
	truth := make(chan cudastub.RanksTruth, 1)
	go func() {
		r, err := run.Wait()
		if err != nil {
			t.Error(err)
		}
		truth <- r
	}()
	// As it is told, so that what others say of it can be asked.
	event := waitFor(t, tracers[1], truth)
	if event.Rank == nil || *event.Rank != late || event.Node != "node-b" || event.WorldSize != ranks {
		t.Errorf("told: %s", event.Line(""))
	}
	status := ""
	for range 20 { // the fleet hears what the rank is with its next push
		if strings.Contains(status, "straggler") {
			break
		}
		time.Sleep(500 * time.Millisecond)
		status = command(t, "env", "INGERO_FLEET_TOKEN=secret", filepath.Join(bin, "ingero"), "fleet", "status", "--cluster",
			"east", "--fleet", "http://127.0.0.1"+ports["http"])
	}
	t.Logf("\n%s", status)
	if !strings.Contains(status, fmt.Sprintf("in east: %d of %[1]d ranks push", ranks)) || strings.Count(status, "straggler") != 1 {
		t.Errorf("the fleet says:\n%s", status)
	}
	if _, m := servetest.Get(t, url); !strings.Contains(m, `ingero_sink_active_stragglers{cluster_id="east",node_id="node-b"} 1`) ||
		!strings.Contains(m, "ingero_sink_connected 2") || strings.Contains(m, `node_id="node-a"`) {
		t.Errorf("the sink says:\n%s", m)
	}
	out := command(t, filepath.Join(bin, "ingero"), "fleet", "status", "--agent="+filepath.Join(dir, "b-status.sock"))
	if !strings.Contains(out, "node node-b in east: the fleet") || strings.Count(out, " straggler\n") != 1 ||
		!strings.Contains(out, fmt.Sprintf("[RANK] rank %d of %d", late, ranks)) {
		t.Errorf("the tracer says:\n%s", out)
	}
	split := waitFor(t, pushers[1], truth)
	r := <-truth
	for _, p := range append(tracers, pushers...) {
		p.stop()
	}
	t.Logf("of its recording is said: %s", split.Line(""))
	if split.Rank == nil || *split.Rank != late || split.Node != "node-b" || split.Cluster != "split" {
		t.Errorf("of its recording is said: %s", split.Line(""))
	}
	if !causedBy(split.ID, events(t, pushers[1])) || len(events(t, pushers[0])) > 0 {
		t.Errorf("of the recordings is said: %+v, %+v", events(t, pushers[0]), events(t, pushers[1]))
	}
	all := append(events(t, tracers[0]), events(t, tracers[1])...)
	for _, e := range all {
		if e.Type != wire.EventStraggler && e.Type != wire.EventResolved {
			continue
		}
		if e.ID != event.ID {
			t.Errorf("also told: %s", e.Line(""))
		}
	}
	if !causedBy(event.ID, all) {
		t.Errorf("its cause is not told: %+v", all)
	}
	recorded(t, bin, filepath.Join(dir, "1.db"), event.ID)
	began := time.Unix(0, int64(r.LateFrom))
	t.Logf("reported %s after it began, by its own account %s later: %s", event.At.Sub(began).Round(time.Millisecond),
		event.Since.Sub(began).Round(time.Millisecond), event.Line(""))
}

// causedBy reports whether the disk is said to be the cause of an event.
func causedBy(id string, all []wire.Event) bool {
	return slices.ContainsFunc(all, func(e wire.Event) bool {
		return e.ID == id && e.Cause != nil && e.Cause.Kind == "block_io"
	})
}

// recorded looks for an event in a recording: by SQL, and in what is explained of it.
func recorded(t *testing.T, bin, db, id string) {
	t.Helper()
	out := command(t, filepath.Join(bin, "ingero"), "query", db, "--format", "json",
		"select rank, ranks, cause from rank_events where event_id = '"+id+"' and cause is not null limit 1")
	if !strings.Contains(out, fmt.Sprintf(`{"rank":%d,"ranks":%d,"cause":"block_io"}`, late, ranks)) {
		t.Errorf("rank_events: %s", out)
	}
	if out := command(t, filepath.Join(bin, "ingero"), "explain", db); !strings.Contains(out, "[RANK] ") {
		t.Errorf("explain says nothing of the slow rank:\n%s", out)
	}
}

// waitFor waits for a straggler that a tracer tells.
func waitFor(t *testing.T, p *program, end <-chan cudastub.RanksTruth) wire.Event {
	t.Helper()
	for {
		for _, e := range events(t, p) {
			if e.Type == wire.EventStraggler {
				return e
			}
		}
		select {
		case <-end:
			t.Fatalf("the job has ended, and nothing was reported: %s", &p.err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// events are those that a tracer has told so far.
func events(t *testing.T, p *program) (list []wire.Event) {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(p.out.String()))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if !bytes.Contains(s.Bytes(), []byte(`"type":"event"`)) {
			continue
		}
		var l struct{ Event wire.Event }
		if err := json.Unmarshal(s.Bytes(), &l); err == nil { // the last line may be written in part
			list = append(list, l.Event)
		}
	}
	return list
}
