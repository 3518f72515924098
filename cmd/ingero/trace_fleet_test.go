package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/rig"
)

// startedOut calls a function when a traced run has started, which is its first line of JSON.
type startedOut struct {
	bytes.Buffer
	start func()
}

func (o *startedOut) Write(b []byte) (int, error) {
	if o.start != nil && bytes.Contains(b, []byte(`"type":"start"`)) {
		o.start()
		o.start = nil
	}
	return o.Buffer.Write(b)
}

// The rank that writes to a disk in each step is told by "trace --fleet", over HTTP, with what it costs and
// why, and at the socket of --events.
func TestTraceTellsTheSlowRank(t *testing.T) {
	kerneltest.Require(t)
	const ranks, late = 4, 2
	dir, err := rig.Folder("ingero-fleet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files, err := cudastub.Extract(dir)
	if err != nil {
		t.Fatal(err)
	}
	job, err := files.StartRanks(t.Context(), cudastub.Options{}, "--dir", dir, "--ranks", fmt.Sprint(ranks), "--steps", "2600",
		"--host-us", "2000", "--gpu-us", "8000", "--fifo", "1", "--late", "disk", "--late-rank", fmt.Sprint(late),
		"--late-ms", "3")
	if err != nil {
		t.Fatal(err)
	}
	fleet := fleetserver.New(fleetserver.Options{Token: "secret"})
	server := httptest.NewServer(fleet.Handler())
	defer server.Close()

	ended := make(chan error, 1)
	out := &startedOut{start: func() {
		go func() {
			_, err := job.Wait()
			ended <- err
		}()
	}}
	var errs bytes.Buffer
	env := map[string]string{fleetTokenEnv: "secret", "HOME": dir}
	c := &console{
		in: strings.NewReader(""), out: out, err: &errs, env: func(k string) string { return env[k] }, now: time.Now,
	}
	socket := filepath.Join(dir, "events.sock")
	told := make(chan wire.Event, 100)
	go readEvents(socket, told)
	root := newRoot(c)
	root.SetArgs([]string{
		"trace", "--json", "--db", filepath.Join(dir, "run.db"), "--node", "gpu-7", "--pid", fmt.Sprint(job.PID()),
		"--fleet", server.URL, "--cluster", "east", "--events=" + socket,
	})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	counts := fleet.Counts()
	if counts.Pushes < 10 || counts.Denied != 0 || counts.Ranks != ranks {
		t.Errorf("the fleet has counted %+v", counts)
	}
	slow := stragglers(t, out.Bytes())
	if len(slow) == 0 {
		t.Fatalf("nothing is told; the fleet has counted %+v; %s", counts, &errs)
	}
	e := slow[len(slow)-1]
	for _, x := range slow { // once more with the culprit, if it was not known at once
		if x.ID != e.ID {
			t.Errorf("another rank, or twice: %s", x.Line(""))
		}
	}
	if e.Rank == nil || *e.Rank != late || e.Node != "gpu-7" || e.Cluster != "east" || e.WorldSize != ranks || e.Excess == nil ||
		*e.Excess < 0.2 || e.LostMS == nil || *e.LostMS < 2 || *e.LostMS > 30 || e.ID == "" || e.Since == nil {
		t.Errorf("told: %s", e.Line(""))
	}
	if c := e.Cause; c == nil || c.Kind != diagnose.BlockIO || c.MS < 2 || c.Explained < 0.5 || len(c.Evidence) == 0 {
		t.Errorf("its cause: %+v", c)
	}
	t.Log(e.Line(""))
	found := 0
	for len(told) > 0 {
		if got := <-told; got.Type == wire.EventStraggler && got.ID == e.ID && *got.Rank == late {
			found++
		}
	}
	if found != len(slow) {
		t.Errorf("%d of %d events are told at the socket", found, len(slow))
	}
}

// stragglers are the ranks that the lines of a run say are slower than their peers.
func stragglers(t *testing.T, out []byte) (list []wire.Event) {
	t.Helper()
	for line := range bytes.Lines(out) {
		var l struct {
			Type  string
			Event wire.Event
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Type == "event" && l.Event.Type == wire.EventStraggler {
			list = append(list, l.Event)
		}
	}
	return list
}

// readEvents reads what is told at a socket, which may not be there yet.
func readEvents(path string, to chan<- wire.Event) {
	var conn net.Conn
	for range 1000 {
		var err error
		if conn, err = net.Dial("unix", path); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if conn == nil {
		return
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return // the run has ended
		}
		if e, err := wire.ParseEvent(line); err == nil {
			to <- e
		}
	}
}

func TestFlagsOfAFleet(t *testing.T) {
	for args, want := range map[string]string{
		"--fleet grpc://fleet:4317/path":          "invalid endpoint",
		"--fleet ftp://fleet":                     "unknown scheme",
		"--cluster east":                          "--fleet HOST:4318",
		"--events":                                "--fleet HOST:4318",
		"--fleet https://f:1 --fleet-ca /no/file": "all or none",
	} {
		c := &console{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: func(k string) string {
			return map[string]string{"HOME": t.TempDir()}[k]
		}, now: time.Now}
		root := newRoot(c)
		root.SetArgs(append([]string{"trace", "--json", "--record=false", "--duration", "1ms"}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
