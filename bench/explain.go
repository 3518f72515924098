package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

const explainCalls = 1_000_000

// measureExplain runs "ingero explain" on a made-up recording. It makes its
// million calls in the quick form too: the target is for that many.
func measureExplain(ctx context.Context, l *lab) ([]Row, error) {
	l.say("explain: making a recording of %d calls", explainCalls)
	path := filepath.Join(l.dir, "explain.db")
	if err := storetest.Build(path, storetest.Load{Calls: explainCalls}, sqlite.Options{}); err != nil {
		return nil, err
	}
	var wall, cpu, memory series
	n := pick(l, 3, 7)
	for i := range n {
		l.say("explain: run %d of %d", i+1, n)
		cmd := exec.CommandContext(ctx, l.opts.Ingero, "explain", "--json", "--since", "all", "--db", path)
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start explain: %w", err)
		}
		p := watchPeak(cmd.Process.Pid)
		err := cmd.Wait()
		took := time.Since(began)
		p.stop()
		if err != nil {
			return nil, fmt.Errorf("run explain: %w", err)
		}
		wall, memory = append(wall, took.Seconds()), append(memory, float64(p.bytes)/1e6)
		cpu = append(cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	}
	return []Row{Row{
		Name: "explain a million calls", Unit: Seconds, Measured: wall.min(), Target: atMost(1),
		Detail: map[string]float64{"median": wall.median(), "cpu_s": cpu.min(), "rounds": float64(n)},
	}.judge(), Row{
		Name: "its peak memory", Unit: Megabytes, Measured: memory.quantile(1), Target: atMost(200),
	}.judge()}, nil
}
