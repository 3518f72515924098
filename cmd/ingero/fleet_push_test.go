package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/cluster/fleetagent"
	"github.com/ingero-io/ingero/cluster/fleetclient"
	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/servetest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// measuredJob makes rows of the ranks of a job whose steps take 100 ms at least.
type measuredJob struct {
	random *rand.Rand
	own    []time.Duration // of each rank
	noise  float64
	began  uint64 // Unix ns
	seq    uint64
}

// second is a row of each rank, with the steps that ended up to at (Unix ns).
func (j *measuredJob) second(at uint64) []store.RankSteps {
	rows := make([]store.RankSteps, len(j.own))
	for rank := range rows {
		rows[rank] = store.RankSteps{
			At: at, PID: uint32(100 + rank), Rank: int32(rank), Ranks: int32(len(j.own)), Comm: 0xabcdef, Every: 1, Key: 7,
			Entered: uint32(j.seq + 1), Waits: [event.NumClasses]uint64{event.BlockIO: uint64(rank) * 3e6},
		}
	}
	const step = 100 * time.Millisecond
	for j.began+(j.seq+1)*uint64(step) <= at {
		j.seq++
		for rank := range rows {
			own := time.Duration(float64(j.own[rank]) * (1 + j.noise*j.random.NormFloat64()))
			s := store.RankStep{
				Seq: j.seq, End: j.began + j.seq*uint64(step), OwnNS: uint64(own), WaitNS: uint64(step - own), GPUNS: 1e6, Work: 40,
			}
			if j.noise > 0 {
				s.Work, s.Clock = s.Work+float64(j.seq%3), 0.9+0.01*j.random.Float64()
			}
			rows[rank].Steps = append(rows[rank].Steps, s)
		}
	}
	return rows
}

// recordedOf writes rows to a recording, second by second, and reads them back.
func recordedOf(t *testing.T, seconds [][]store.RankSteps) (back [][]store.RankSteps) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range seconds {
		if err := w.Write(&store.Batch{Tables: store.Tables{RankSteps: rows}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := store.List[store.RankSteps](t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].At == all[0].At {
			n++
		}
		back, all = append(back, all[:n]), all[n:]
	}
	return back
}

// judged is what a node of all ranks says of rows, with a fleet of its own, in virtual time.
func judged(seconds [][]store.RankSteps) (said []node.Said) {
	n, fleet := node.New(node.Options{Name: "gpu-01", Cluster: "c"}), health.NewFleet()
	for _, rows := range seconds {
		second := rows[0].At
		n.Batch(&store.Batch{Tables: store.Tables{RankSteps: rows}})
		said = n.Second(second, said)
		for at := time.Duration(second); at < time.Duration(second)+time.Second; at += 100 * time.Millisecond {
			if next := n.Next(); next == 0 || next > at {
				continue
			}
			pushes, polls := n.Due(at)
			for i := range pushes {
				said = n.Answer(at, pushes[i].Health.Cohort, fleet.Push(at, &pushes[i].Health), said)
			}
			for _, p := range polls {
				said = n.Answer(at, p.Health.Cohort, fleet.Poll(at, p.Health), said)
			}
		}
	}
	return said
}

// What a recording has of ranks is all that is needed: the same is said of it as of what was measured.
func TestARecordingSaysTheSameOfRanks(t *testing.T) {
	j := &measuredJob{random: rand.New(rand.NewPCG(1, 2)), noise: 0.02, began: 1_700_000_000_000_000_000}
	for range 4 {
		j.own = append(j.own, 40*time.Millisecond)
	}
	var seconds [][]store.RankSteps
	for s := range uint64(150) {
		if s == 90 {
			j.own[2] = 55 * time.Millisecond
		}
		seconds = append(seconds, j.second(j.began+(s+1)*1e9))
	}
	seconds[149][1].Ended = true
	back := recordedOf(t, seconds)
	if d := cmp.Diff(seconds, back); d != "" {
		t.Fatalf("what is read back differs:\n%s", d)
	}
	want := judged(seconds)
	if len(want) != 1 || want[0].Kind != health.KindStraggler || want[0].Rank != 2 {
		t.Fatalf("this tests nothing: %+v", want)
	}
	if d := cmp.Diff(want, judged(back)); d != "" {
		t.Error(d)
	}
}

// tracerOf writes a recording as a tracer does, until the test ends it.
type tracerOf struct {
	t      *testing.T
	writer *sqlite.Writer
	job    *measuredJob
	agent  *fleetagent.Agent // of the direct path; nil: none
}

func newTracer(t *testing.T, path, name string, direct *fleetagent.Agent) *tracerOf {
	t.Helper()
	w, err := storetest.OpenWriter(path, sqlite.Options{Session: store.Session{
		Started: uint64(time.Now().UnixNano()), Node: name, PID: uint32(os.Getpid()),
	}})
	if err != nil {
		t.Fatal(err)
	}
	j := &measuredJob{random: rand.New(rand.NewPCG(1, 2)), began: uint64(time.Now().UnixNano())}
	for rank := range 4 {
		j.own = append(j.own, time.Duration(40+rank)*time.Millisecond)
	}
	err = w.Write(&store.Batch{Tables: store.Tables{Processes: []store.Process{{PID: 102, Name: "trainer", Rank: 2, Traced: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	return &tracerOf{t, w, j, direct}
}

// second writes what was measured since the last one.
func (r *tracerOf) second() {
	r.t.Helper()
	now := time.Now()
	b := &store.Batch{Tables: store.Tables{RankSteps: r.job.second(uint64(now.UnixNano()))}}
	if err := r.writer.Write(b); err != nil {
		r.t.Fatal(err)
	}
	if err := r.writer.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if r.agent != nil {
		r.agent.Batch(b)
		r.agent.Second(now)
	}
}

// members are the ranks that a fleet knows of a cluster, and their own work.
func members(t *testing.T, client *fleetclient.Client, cluster string) (list []string) {
	t.Helper()
	l, err := client.Cohorts(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Cohorts {
		for _, m := range l.Cohorts[i].Members {
			list = append(list, fmt.Sprintf("%s %d: %.3f ms, peers' %.3f", m.Node, m.Rank, m.OwnMS, m.PeerMS))
		}
	}
	slices.Sort(list)
	return list
}

// Two fleets' clusters hear the same of one job: from the tracer itself, and from a recording that is followed. When
// the tracer has ended, the next one is followed, in another file.
func TestFleetPushFollowsARecording(t *testing.T) {
	server := httptest.NewServer(fleetserver.New(fleetserver.Options{Token: "secret"}).Handler())
	defer server.Close()
	client, err := fleetclient.New(fleetclient.Options{URL: server.URL, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	home := t.TempDir()
	path := filepath.Join(home, "run.db")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	direct := fleetagent.New(fleetagent.Options{
		Node: node.Options{Name: "gpu-01", Cluster: "direct"}, Fleet: client, Told: func(node.Said) {},
	})
	ended := make(chan error, 2)
	go func() {
		direct.Run(ctx)
		ended <- nil
	}()
	var out, log servetest.Buffer
	c := &console{in: strings.NewReader(""), out: &out, err: &log, now: time.Now, env: func(k string) string {
		return map[string]string{"HOME": home, fleetTokenEnv: "secret"}[k]
	}}
	go func() {
		root := newRoot(c)
		root.SetArgs([]string{
			"fleet-push", "--db", path, "--fleet", server.URL, "--cluster", "split", "--json",
			"--events=" + filepath.Join(home, "e.sock"),
		})
		ended <- root.ExecuteContext(ctx)
	}()
	log.After(t, "there is no recording")

	tracer := newTracer(t, path, "gpu-01", direct)
	until := func(what string, done func() bool) {
		t.Helper()
		for range 300 {
			tracer.second()
			if done() {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("%s did not come; it says:\n%s\nand direct: %v\nsplit: %v", what, &log, members(t, client, "direct"),
			members(t, client, "split"))
	}
	whole := func(list []string) bool { return len(list) == 4 && !strings.Contains(strings.Join(list, ""), " 0.000") }
	until("what the fleet knows of the ranks", func() bool {
		split := members(t, client, "split")
		return whole(split) && slices.Equal(split, members(t, client, "direct"))
	})
	split := members(t, client, "split")
	if want := "gpu-01 2: 42.000 ms, peers' 41.000"; len(split) != 4 || split[2] != want {
		t.Errorf("the fleet knows %q, not %s", split, want)
	}
	status, err := statusOf(t, home, "--agent="+filepath.Join(home, "e-status.sock"))
	if err != nil || !strings.Contains(status, "2 of 4  trainer 102") {
		t.Errorf("the agent says: %s, %v", status, err)
	}
	const none = "no tracer writes" // said before its first second, too
	before := strings.Count(log.String(), none)
	if err := tracer.writer.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 0; strings.Count(log.String(), none) == before; n++ {
		if n == 300 {
			t.Fatalf("that the tracer ended is not noticed: %s", &log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	tracer = newTracer(t, path, "gpu-02", nil)
	until("the next tracer", func() bool {
		return slices.ContainsFunc(members(t, client, "split"), func(m string) bool { return strings.HasPrefix(m, "gpu-02 ") })
	})
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := tracer.writer.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(out.String(), wire.EventStraggler) {
		t.Errorf("of an even job it says: %s", &out)
	}
}

func TestFleetPushSaysWhatIsWrong(t *testing.T) {
	home := t.TempDir()
	bad := filepath.Join(home, "bad.db")
	if err := os.WriteFile(bad, []byte("no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--db " + bad:                                "--fleet HOST:4318",
		"--fleet 127.0.0.1:1 --db " + bad:            "read what is to be pushed",
		"--fleet ftp://f --db " + bad:                "unknown scheme",
		"--fleet 127.0.0.1:1 x":                      "takes no arguments",
		"--fleet 127.0.0.1:1 --fleet-key /no --db x": "or none",
	} {
		r := runIn(t, home, append([]string{"fleet-push"}, strings.Fields(args)...)...)
		if r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}
