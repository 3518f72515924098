package accuracy

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Names for programs and threads: like real ones, at most 15 bytes.
var (
	programs = []string{"trainer", "engine", "server", "notebook", "finetune", "vllm-worker"}
	threads  = []string{"dispatch", "main-loop", "executor", "launcher"}
	others   = []string{
		"backup-agent", "indexer", "log-shipper", "compactor", "scanner", "metrics-flush", "ckpt-writer",
		"gc-thread",
	}
)

// draw makes the parameters of one case. Each case has its own generator, so that a selection of
// cases gets the same parameters as in a full run.
type draw struct {
	rng   *rand.Rand
	cpus  []int // CPUs that may be used
	quick bool
}

func newDraw(seed uint64, name string, cpus []int, quick bool) *draw {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return &draw{rng: rand.New(rand.NewPCG(seed, h.Sum64())), cpus: cpus, quick: quick}
}

// between draws from lo to hi, both included.
func (d *draw) between(lo, hi int) int { return lo + d.rng.IntN(hi-lo+1) }

func (d *draw) pick(from []string) string { return from[d.rng.IntN(len(from))] }

func (d *draw) cpu() int { return d.cpus[d.rng.IntN(len(d.cpus))] }

// twoCPUs draws two CPUs, which differ if there is more than one.
func (d *draw) twoCPUs() (here, there int) {
	i := d.rng.IntN(len(d.cpus))
	return d.cpus[i], d.cpus[(i+1)%len(d.cpus)]
}

// program draws what does not matter for the fault: names, the seed of the program's own variation,
// and, unless the fault needs a CPU, the pinning.
func (d *draw) program(pinned bool) []string {
	args := arguments("--name", d.pick(programs), "--culprit", d.pick(others), "--seed", d.between(1, 1<<20), "--jitter",
		d.between(0, 30))
	if d.rng.IntN(2) == 0 {
		args = append(args, "--thread", d.pick(threads))
	}
	if pinned || d.rng.IntN(2) == 0 {
		args = append(args, arguments("--pin", d.cpu())...)
	}
	return args
}

// healthy draws how long the run is healthy at first.
func (d *draw) healthy() []string {
	lo, hi := 1500, 2000 // ms
	if d.quick {
		lo, hi = 900, 1200
	}
	return arguments("--start-after", float64(d.between(lo, hi))/1000)
}

// span is a range to draw from.
type span struct{ lo, hi int }

// ranges has a span for each magnitude.
type ranges map[Magnitude]span

func (d *draw) of(r ranges, m Magnitude) int { return d.between(r[m].lo, r[m].hi) }

// arguments splits all values into words; a string may hold several.
func arguments(values ...any) []string {
	return strings.Fields(fmt.Sprintln(values...))
}
