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

// compared is how many calls each of two compared recordings has; the quick form, too.
const compared = 10_000_000

// measureCompare runs "ingero compare" on two generated recordings of as many calls.
func measureCompare(ctx context.Context, l *lab) ([]Row, error) {
	a, err := l.recording(compared)
	if err != nil {
		return nil, err
	}
	b := filepath.Join(l.dir, "compared.db")
	l.say("making another recording of %d calls", compared)
	if err := storetest.Build(b, storetest.Load{Calls: compared, Graphs: true, Seed: 1}, sqlite.Options{}); err != nil {
		return nil, err
	}
	n := pick(l, 3, 7)
	r, err := l.rounds(ctx, n, "compare: 10 million calls with 10 million", "compare", "--json", a, b)
	if err != nil {
		return nil, err
	}
	return r.rows("compare 10 million calls with 10 million", 3, 400), nil
}

func measureExplainOf(ctx context.Context, l *lab, name string, calls int, seconds, megabytes float64) ([]Row, error) {
	path, err := l.recording(calls)
	if err != nil {
		return nil, err
	}
	r, err := l.rounds(ctx, pick(l, 3, 7), "explain: "+name, "explain", "--json", "--since", "all", "--db", path)
	if err != nil {
		return nil, err
	}
	return r.rows("explain "+name, seconds, megabytes), nil
}

// usedOften is what several runs of a command used.
type usedOften struct{ wall, cpu, peak series }

// rounds runs a command of the program n times.
func (l *lab) rounds(ctx context.Context, n int, say string, args ...string) (u usedOften, err error) {
	for i := range n {
		l.say("%s, run %d of %d", say, i+1, n)
		r, err := l.ingero(ctx, args...)
		if err != nil {
			return u, err
		}
		u.wall, u.cpu, u.peak = append(u.wall, r.wall), append(u.cpu, r.cpu), append(u.peak, r.peak)
	}
	return u, nil
}

// rows are the time and the peak memory of a command, with their targets.
func (u *usedOften) rows(name string, seconds, megabytes float64) []Row {
	return []Row{Row{
		Name: name, Unit: Seconds, Measured: u.wall.min(), Target: atMost(seconds),
		Detail: map[string]float64{"median": u.wall.median(), "cpu_s": u.cpu.min(), "rounds": float64(len(u.wall))},
	}.judge(), Row{
		Name: name + ", peak memory", Unit: Megabytes, Measured: u.peak.quantile(1), Target: atMost(megabytes),
	}.judge()}
}
