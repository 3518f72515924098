package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/echo/store/clickhouse/clickhousetest"
)

// argsEnv has the command line, one word a line, of a child that is the program and no test.
const argsEnv = "INGERO_ECHO_TEST_ARGS"

// patienceEnv has the patience of such a child.
const patienceEnv = "INGERO_ECHO_TEST_PATIENCE"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsEnv); args != "" {
		patience, _ = time.ParseDuration(os.Getenv(patienceEnv)) // without it, the default
		os.Exit(run(context.Background(), strings.Split(args, "\n"), os.Stdout, os.Stderr, os.Getenv))
	}
	code := m.Run()
	clickhousetest.Clean()
	os.Exit(code)
}

const (
	producers = 64
	requests  = 40 // of each
	perOne    = 500
)

// child runs the program as a process of its own, which can be killed, and waits until it listens. rest returns what it
// says after that, once it has ended.
func child(t testing.TB, args ...string) (c *exec.Cmd, rest func(t testing.TB) string) {
	t.Helper()
	c, ended := childUntil(t, args...)
	return c, func(t testing.TB) string {
		t.Helper()
		select {
		case said := <-ended:
			return said
		case <-time.After(30 * time.Second):
			t.Fatal("it has not ended")
			return ""
		}
	}
}

// childUntil starts it, and returns a channel that gets what it says then, when it has ended.
func childUntil(t testing.TB, args ...string) (c *exec.Cmd, said <-chan string) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), argsEnv+"="+strings.Join(args, "\n"), tokenEnv+"="+token)
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	var first []string
	n := 0
	for n < 2 && lines.Scan() {
		first = append(first, lines.Text())
		if listening.MatchString(lines.Text()) {
			n++
		}
	}
	if n < 2 {
		t.Fatalf("it does not listen: %s", strings.Join(first, "\n"))
	}
	ended := make(chan string, 1)
	go func() { // it must not wait for a reader
		var more strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&more, lines.Text())
		}
		ended <- more.String()
	}()
	return c, ended
}

// free is an address at which nothing listens; no other program takes its port from this part of the loopback network.
func free(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// begun is when the tests began, by the producers' clocks.
var begun = time.Now().UnixNano()

// points are those of a producer's n-th request. The clock of every eighth producer is an hour ahead.
func points(producer, n int) pmetricotlp.ExportRequest {
	m := pmetric.NewMetrics()
	rm := m.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("ingero.node.id", fmt.Sprint("node-", producer/8))
	metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("made")
	list := metric.SetEmptyGauge().DataPoints()
	at := begun
	if producer%8 == 0 {
		at += int64(time.Hour)
	}
	for i := n * perOne; i < (n+1)*perOne; i++ {
		p := list.AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(at + int64(i)*1_000_000))
		p.Attributes().PutInt("rank", int64(producer))
		p.SetIntValue(int64(i))
	}
	return pmetricotlp.NewExportRequestFromMetrics(m)
}

// send sends until it is acknowledged.
func send(ctx context.Context, c pmetricotlp.GRPCClient, request pmetricotlp.ExportRequest) error {
	for {
		once, cancel := context.WithTimeout(ctx, 30*time.Second)
		_, err := c.Export(once, request)
		cancel()
		switch status.Code(err) {
		case codes.OK:
			return nil
		case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
			if ctx.Err() != nil {
				return ctx.Err()
			}
		default:
			return err
		}
	}
}

// readSlowly asks for many rows, reads them in small pieces with pauses, and reports whether it got all of them.
func readSlowly(ctx context.Context, api string) bool {
	body := strings.NewReader(`{"sql":"select * from events limit 500"}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api+"/api/v1/sql", body)
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	var answer bytes.Buffer
	for {
		if _, err := io.CopyN(&answer, a.Body, 4096); err != nil {
			return errors.Is(err, io.EOF) && a.StatusCode == http.StatusOK && json.Valid(answer.Bytes())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// disk is a folder in a file system of its own, if this process may mount one.
type disk struct {
	dir     string
	mounted bool
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir()}
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Logf("no file system of its own (%v): a limit on the size of files is the full disk", err)
		return d
	}
	d.mounted = true
	t.Cleanup(func() {
		if err := unix.Unmount(d.dir, 0); err != nil {
			t.Error(err)
		}
	})
	return d
}

// ballast is the file that fills a disk.
func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all space, or what a process may add to its files.
func (d *disk) fill(t *testing.T, pid int) {
	t.Helper()
	if !d.mounted {
		limit(t, pid, 1<<20)
		return
	}
	f, err := os.Create(d.ballast())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

func (d *disk) free(t *testing.T, pid int) {
	t.Helper()
	if !d.mounted {
		limit(t, pid, unix.RLIM_INFINITY)
	} else if err := os.Remove(d.ballast()); err != nil {
		t.Fatal(err)
	}
}

// limit bounds the size of a process's files.
func limit(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Fatal(err)
	}
}

// 64 producers send 20,000 points each, as fast as they can, some requests twice, while two slow readers ask. In the
// middle Echo is killed, and later its disk is full for a while. Every point is there exactly once.
func TestManyProducersAndKill9(t *testing.T) {
	disk, otlp, api := newDisk(t), free(t), free(t)
	args := []string{
		"serve", "--db-path", filepath.Join(disk.dir, "echo.db"), "--otlp-addr", otlp, "--otlp-http-addr", "", "--mcp-addr", api,
		"--health-addr", "",
	}
	first, _ := child(t, args...)
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	half, threeQuarters := make(chan struct{}), make(chan struct{})
	for producer := range producers {
		conn, err := grpc.NewClient(otlp, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		if err != nil {
			t.Fatal(err)
		}
		client := pmetricotlp.NewGRPCClient(conn)
		all.Go(func() {
			defer conn.Close()
			for n := range requests {
				for range 1 + (producer+n)%4/3 { // a quarter of them twice
					if err := send(ctx, client, points(producer, n)); err != nil {
						t.Errorf("producer %d: %v", producer, err)
						return
					}
				}
				switch acknowledged.Add(1) {
				case producers * requests / 2:
					close(half)
				case producers * requests * 3 / 4:
					close(threeQuarters)
				}
			}
		})
	}
	reading, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	var answers atomic.Int64
	for range 2 {
		readers.Go(func() {
			for reading.Err() == nil {
				if readSlowly(reading, api) {
					answers.Add(1)
				}
			}
		})
	}
	wrong := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer wrong")
	conn, err := grpc.NewClient(otlp, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := send(wrong, pmetricotlp.NewGRPCClient(conn), points(99, 0)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("with a wrong token: %v", err)
	}
	<-half
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	second, ended := childUntil(t, args...)
	<-threeQuarters
	disk.fill(t, second.Process.Pid)
	refused := false
	for end := time.Now().Add(time.Minute); !refused && time.Now().Before(end); {
		once, cancel := context.WithTimeout(ctx, 30*time.Second)
		_, err := pmetricotlp.NewGRPCClient(conn).Export(once, points(0, 0)) // which is there
		cancel()
		refused = status.Code(err) == codes.Unavailable
	}
	if !refused {
		t.Error("with a full disk nothing was refused")
	}
	disk.free(t, second.Process.Pid)
	sent := make(chan struct{})
	go func() { all.Wait(); close(sent) }()
	select {
	case <-sent:
	case said := <-ended: // nobody would start it again
		t.Fatalf("of %d requests %d were acknowledged when it ended: %s", producers*requests, acknowledged.Load(), said)
	}
	stop()
	readers.Wait()
	t.Logf("%d slow answers, %d points in %s", answers.Load(), producers*requests*perOne,
		time.Since(time.Unix(0, begun)).Round(100*time.Millisecond))
	if answers.Load() == 0 {
		t.Error("no slow reader had an answer")
	}
	e := &echo{at: map[string]string{"questions": api}}
	for sql, want := range map[string]string{
		"select count(*), count(distinct (rank, value_int)) from events":                              "[[1280000,1280000]]",
		"select count(*), min(n), max(n) from (select rank, count(*) as n from events group by rank)": "[[64,20000,20000]]",
		// The clocks that are an hour ahead, and the others, whose points are at most 20 s ahead of when they are sent.
		"select count(distinct rank), min(timestamp_ns - received_ns) > -600e9 from events where rank % 8 > 0 and " +
			"timestamp_ns - received_ns < 60e9": "[[56,true]]",
		"select count(distinct rank), max(timestamp_ns - received_ns) < 3660e9 from events where " +
			"timestamp_ns - received_ns > 3000e9": "[[8,true]]",
		"select sum(case when rank % 8 = 0 then 1 else 0 end), count(*) from events where node_id = 'node-' || rank // 8 and kind = 'gauge'": "[[160000,1280000]]",
	} {
		if _, got := e.ask(t, sql); !strings.Contains(got, `"rows":`+want) {
			t.Errorf("%s: %s; want %s", sql, got, want)
		}
	}
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("after Ctrl+C: %v", err)
	}
}
