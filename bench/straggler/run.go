package straggler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

const (
	cluster = "bench"
	// warmTime is how long a job runs on after all its ranks can be compared.
	warmTime = 5 * time.Second
	// settleTime is the longest time until they can be, watchTime for how long what must be told is waited for.
	settleTime, watchTime = 90 * time.Second, 40 * time.Second
	// afterTime is for how long a job is watched after all was told: what else is said then is false.
	afterTime = 3 * time.Second
	// killAfter is how long after it became slow the server is killed, and downFor for how long it is.
	killAfter, downFor = time.Second, 3 * time.Second
)

// cell is a job with its fleet.
type cell struct {
	l       *lab
	c       *Case
	dir     string
	fleet   []*program // the servers: of those that were killed, too
	ports   [2]string  // of HTTP and gRPC
	tracers [nodes]*program
	sink    *program
	metrics string // the sink's URL
	job     *cudastub.RanksRun
	alone   bool // without a fleet and a sink: ranks are not compared
}

// runCase runs a case.
func (l *lab) runCase(ctx context.Context, c *Case) (x *Result, err error) {
	l.runs++
	m := &cell{l: l, c: c, dir: filepath.Join(l.dir, strconv.Itoa(l.runs))}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for a run: %w", err)
	}
	x = &Result{Case: *c}
	before, err := rig.ReadUsage()
	if err != nil {
		return nil, fmt.Errorf("read the machine's load: %w", err)
	}
	began := time.Now()
	err = m.open(ctx)
	if err == nil {
		began, err = m.watch(ctx, x)
	}
	x.Seconds = time.Since(began).Seconds()
	list := m.events() // when programs end, others miss them
	truth, closeErr := m.close()
	if err = errors.Join(err, closeErr); err != nil {
		return nil, err
	}
	after, err := rig.ReadUsage()
	if err != nil {
		return nil, fmt.Errorf("read the machine's load: %w", err)
	}
	x.OthersPct = 100 * rig.Others(before, after)
	m.c.judge(x, &truth, list)
	return x, errors.Join(os.RemoveAll(m.dir), ctx.Err())
}

func (m *cell) file(name string) string { return filepath.Join(m.dir, name) }

// open starts all, and waits until the ranks can be compared.
func (m *cell) open(ctx context.Context) error {
	if !m.alone {
		if err := m.serve(ctx, "0.0.0.0:0", "0.0.0.0:0"); err != nil {
			return err
		}
	}
	pids, err := m.startJob(ctx)
	if err != nil {
		return err
	}
	var sockets []string
	for n, scheme := range []string{"http", "grpc"} { // a node by each
		ns := m.l.nodes[n]
		per := ranks / nodes
		sockets = append(sockets, m.file(fmt.Sprint(n, ".sock")))
		args := []string{
			m.l.o.Ingero, "trace", "--json", "--node", nodeName(n), "--db", m.file(fmt.Sprint(n, ".db")), "--pid",
			strings.Join(pids[n*per:(n+1)*per], ","),
		}
		if !m.alone {
			args = append(args, "--cluster", cluster, "--fleet", scheme+"://"+ns.Address+m.ports[n], "--events="+sockets[n])
		}
		m.tracers[n], err = m.l.start(ctx, ns, args...)
		if err != nil {
			return err
		}
	}
	for _, t := range m.tracers {
		if _, err := t.after(ctx, `"type":"start"`); err != nil {
			return err
		}
	}
	if m.alone {
		return m.begin(ctx)
	}
	m.sink, err = m.l.start(ctx, nil, m.l.o.Sink, "--listen", "127.0.0.1:0", "--socket-path", strings.Join(sockets, ","))
	if err != nil {
		return err
	}
	if m.metrics, err = m.sink.after(ctx, "url="); err != nil {
		return err
	}
	return m.begin(ctx)
}

// begin begins the job, and waits until its ranks are compared.
func (m *cell) begin(ctx context.Context) error {
	if err := os.WriteFile(m.file("gate"), nil, 0o600); err != nil {
		return fmt.Errorf("begin the job: %w", err)
	}
	if m.alone {
		pause(ctx, 2*warmTime)
		return ctx.Err()
	}
	return m.settle(ctx)
}

func nodeName(n int) string { return "node-" + string(rune('a'+n)) }

// serve starts the fleet's server.
func (m *cell) serve(ctx context.Context, listen, grpc string) error {
	p, err := m.l.start(ctx, nil, m.l.o.Fleet, "serve", "--insecure", "--listen", listen, "--grpc", grpc)
	if err != nil {
		return err
	}
	m.fleet = append(m.fleet, p)
	for i, scheme := range []string{"http", "grpc"} {
		at, err := p.after(ctx, scheme+"://")
		if err != nil {
			return err
		}
		m.ports[i] = at[strings.LastIndexByte(at, ':'):]
	}
	return nil
}

// startJob starts the ranks, which wait at a gate, and returns their processes by rank. The last of equal options
// holds.
func (m *cell) startJob(ctx context.Context, options ...string) (pids []string, err error) {
	args := append([]string{
		"--ranks", strconv.Itoa(ranks), "--steps", "0", "--host-us", strconv.Itoa(hostUS), "--read-us", strconv.Itoa(readUS),
		"--gpu-us", strconv.Itoa(gpuUS), "--jitter", strconv.Itoa(jitterPct), "--fifo", "1", "--dir", m.dir,
		"--gate", m.file("gate"), "--late-gate", m.file("late"), "--late-rank", strconv.Itoa(late),
		"--late-ms", strconv.Itoa(stepMS * m.c.SizePct / 100),
	}, options...)
	if m.c.late != "" {
		args = append(args, "--late", m.c.late)
	}
	if m.job, err = m.l.files.StartRanks(ctx, cudastub.Options{}, args...); err != nil {
		return nil, err
	}
	if err := m.job.Begin(); err != nil {
		return nil, fmt.Errorf("begin the job: %w", err)
	}
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", m.job.PID())
	for range 500 {
		b, err := os.ReadFile(children)
		if err != nil {
			return nil, fmt.Errorf("find the ranks: %w", err)
		}
		// Those that have no name yet, and what runs beside them, are none.
		pids = slices.DeleteFunc(strings.Fields(string(b)), func(pid string) bool {
			name, err := os.ReadFile("/proc/" + pid + "/comm")
			return err != nil || !strings.HasPrefix(string(name), "rank-")
		})
		if len(pids) == ranks {
			return pids, nil
		}
		if !pause(ctx, 10*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
	return nil, errors.New("the ranks did not start")
}

// pause waits; it is false if ctx was done first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// settle waits until all ranks are compared with their peers, and for a while longer.
func (m *cell) settle(ctx context.Context) error {
	for end := time.Now().Add(settleTime); time.Now().Before(end); {
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
		if active, err := m.active(ctx); err != nil {
			return err
		} else if active == ranks {
			pause(ctx, warmTime)
			return ctx.Err()
		}
	}
	return fmt.Errorf("not all ranks could be compared in %s: %s", settleTime, strings.Join(m.tracers[0].printed(), "\n"))
}

// active is how many ranks the fleet knows to be compared with their peers.
func (m *cell) active(ctx context.Context) (n int, err error) {
	b, err := get(ctx, "http://127.0.0.1"+m.ports[0]+wire.CohortsPath+"?cluster_id="+cluster)
	if err != nil {
		return 0, err
	}
	list, err := wire.ParseCohortList(b)
	if err != nil {
		return 0, err
	}
	for _, c := range list.Cohorts {
		for i := range c.Members {
			if s := c.Members[i].State; s == health.Active.String() || s == health.Suspect.String() {
				n++
			}
		}
	}
	return n, nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	defer a.Body.Close() // it is read to its end
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	return b, nil
}

// watch makes it happen, waits until all is reported that must be, and returns when it happened.
func (m *cell) watch(ctx context.Context, x *Result) (began time.Time, err error) {
	began = time.Now()
	switch {
	case m.c.kind == "":
		pause(ctx, m.l.o.Even)
		return began, ctx.Err()
	case m.c.late != "":
		err = os.WriteFile(m.file("late"), nil, 0o600)
	case m.c.act == cutNode:
		err = m.l.nodes[nodes-1].Connect(ctx, false)
	}
	if err != nil {
		return began, fmt.Errorf("make it happen: %w", err)
	}
	if m.c.act == killOnce {
		if err := m.restart(ctx); err != nil {
			return began, err
		}
	}
	m.until(ctx, func(list []wire.Event) bool {
		told, caused := m.c.told(list)
		return told != nil && (m.c.cause == "" || caused != nil)
	})
	if m.c.kind == wire.EventStraggler {
		x.Scraped, err = m.scraped(ctx)
	}
	if m.c.act == cutNode {
		x.began = began
		err = errors.Join(err, m.l.nodes[nodes-1].Connect(ctx, true))
		m.until(ctx, func(list []wire.Event) bool { return m.c.back(list) != nil })
	}
	pause(ctx, afterTime)
	return began, errors.Join(err, ctx.Err())
}

// restart kills the server, and starts it again after a while.
func (m *cell) restart(ctx context.Context) error {
	pause(ctx, killAfter)
	p := m.fleet[0]
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if err := p.stop(); err != nil {
		return err
	}
	pause(ctx, downFor)
	return m.serve(ctx, "0.0.0.0"+m.ports[0], "0.0.0.0"+m.ports[1])
}

// until waits until what was told is enough, or for watchTime.
func (m *cell) until(ctx context.Context, enough func([]wire.Event) bool) {
	for end := time.Now().Add(watchTime); time.Now().Before(end) && pause(ctx, 200*time.Millisecond); {
		if enough(m.events()) {
			return
		}
	}
}

// events are those that tracers and servers have told.
func (m *cell) events() (list []wire.Event) {
	for _, p := range m.tracers {
		for _, line := range p.printed() {
			var l struct {
				Type  string
				Event wire.Event
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Type == "event" {
				list = append(list, l.Event)
			}
		}
	}
	for _, p := range m.fleet {
		for _, line := range p.printed() {
			var e wire.Event
			if json.Unmarshal([]byte(line), &e) == nil && e.Type != "" {
				list = append(list, e)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b wire.Event) int { return a.At.Compare(b.At) })
	return list
}

// scraped reports whether the sink's metrics say which node has a slow rank.
func (m *cell) scraped(ctx context.Context) (*bool, error) {
	b, err := get(ctx, m.metrics)
	if err != nil {
		return nil, err
	}
	of := func(n int) string {
		return fmt.Sprintf(`ingero_sink_active_stragglers{cluster_id=%q,node_id=%q}`, cluster, nodeName(n))
	}
	ok := strings.Contains(string(b), of(nodes-1)+" 1") && !strings.Contains(string(b), of(0)+" 1")
	return &ok, nil
}

// close ends all, and returns the job's truth.
func (m *cell) close() (truth cudastub.RanksTruth, err error) {
	var stopping sync.WaitGroup
	all := append(append(m.tracers[:], m.sink), m.fleet...)
	errs := make([]error, len(all)+1)
	for i, p := range all {
		if p != nil {
			stopping.Go(func() { errs[i] = p.stop() })
		}
	}
	if m.job != nil {
		_ = m.job.Stop() // it may have ended
		truth, errs[len(all)] = m.job.Wait()
	}
	stopping.Wait()
	return truth, errors.Join(errs...)
}
