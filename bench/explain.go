package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// explained are the sizes of the recordings that are explained. The quick form uses the same sizes,
// because the targets are for that many calls.
var explained = []struct {
	name               string
	calls              int
	seconds, megabytes float64 // targets
}{
	{"a million calls", 1_000_000, 1, 200},
	{"10 million calls", 10_000_000, 3, 300},
}

// used is what a run of a command used.
type used struct {
	wall, cpu float64 // seconds
	peak      float64 // MB of resident memory
}

// ingero runs a command of the program and discards its output.
func (l *lab) ingero(ctx context.Context, args ...string) (used, error) {
	cmd := exec.CommandContext(ctx, l.opts.Ingero, args...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return used{}, fmt.Errorf("start %s: %w", args[0], err)
	}
	p := watchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	took := time.Since(began)
	p.stop()
	if err != nil {
		return used{}, fmt.Errorf("run %s: %w", args[0], err)
	}
	return used{
		wall: took.Seconds(), peak: float64(p.bytes) / 1e6,
		cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
	}, nil
}

// measureExplain runs "ingero explain" on generated recordings.
func measureExplain(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for _, k := range explained {
		r, err := measureExplainOf(ctx, l, k.name, k.calls, k.seconds, k.megabytes)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// recording generates a recording of so many calls, or returns the path of an earlier one.
func (l *lab) recording(calls int) (string, error) {
	path := filepath.Join(l.dir, fmt.Sprintf("made%d.db", calls))
	if _, err := os.Stat(path); err == nil {
		return path, nil // of another measurement
	}
	l.say("making a recording of %d calls", calls)
	return path, storetest.Build(path, storetest.Load{Calls: calls, Graphs: true}, sqlite.Options{})
}

func measureExplainOf(ctx context.Context, l *lab, name string, calls int, seconds, megabytes float64) ([]Row, error) {
	path, err := l.recording(calls)
	if err != nil {
		return nil, err
	}
	var wall, cpu, memory series
	n := pick(l, 3, 7)
	for i := range n {
		l.say("explain: %s, run %d of %d", name, i+1, n)
		r, err := l.ingero(ctx, "explain", "--json", "--since", "all", "--db", path)
		if err != nil {
			return nil, err
		}
		wall, cpu, memory = append(wall, r.wall), append(cpu, r.cpu), append(memory, r.peak)
	}
	return []Row{Row{
		Name: "explain " + name, Unit: Seconds, Measured: wall.min(), Target: atMost(seconds),
		Detail: map[string]float64{"median": wall.median(), "cpu_s": cpu.min(), "rounds": float64(n)},
	}.judge(), Row{
		Name: "explain " + name + ", peak memory", Unit: Megabytes, Measured: memory.quantile(1), Target: atMost(megabytes),
	}.judge()}, nil
}
