package llama_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// traced runs llama.cpp under the whole tracer, which is started before CUDA is loaded.
func traced(t *testing.T, cuda int, env []string, args ...string) (db, counts string) {
	t.Helper()
	f, err := llama.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.GPU(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	db, counts = filepath.Join(dir, "run.db"), filepath.Join(dir, "counts")
	// The program loads CUDA late, and probes are attached some milliseconds after that. Here they
	// must be attached before the first call.
	preload := fmt.Sprintf("LD_PRELOAD=%[1]s/libcuda.so.1:%[1]s/libcudart.so.%[2]d", dir, cuda)
	cmd := f.Command(t.Context(), cuda, dir, append(env, "HOLLOW_FILE="+counts, preload), args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	attached, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer stop() // the recording ends with the program
		select {
		case <-attached:
		case <-ctx.Done():
		}
		_ = begin.Close() // the program begins
		ended <- cmd.Wait()
	}()
	summary, err := agent.Run(ctx, agent.Options{
		PIDs: []int{cmd.Process.Pid}, UID: agent.AnyUser, InnerCalls: true,
		Started: func(agent.Start) { close(attached) },
		Record: &agent.Recording{Path: db, Node: "n", Open: func(s store.Session) (store.Writer, error) {
			return sqlite.OpenWriter(db, sqlite.Options{Session: s})
		}},
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatalf("llama.cpp: %v\n%s", err, &said)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range summary.Losses {
		if event.Losses[l.Kind].Unit == "calls" && l.Count > 0 {
			t.Errorf("%d calls lost: %v", l.Count, l.Kind)
		}
	}
	return db, counts
}

func query(t *testing.T, db, text string) map[string]uint64 {
	t.Helper()
	q, err := sqlite.Query(t.Context(), db, text, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	found := map[string]uint64{}
	for q.Next() {
		v := q.Values()
		found[fmt.Sprint(v[0])] += uint64(v[1].(int64))
	}
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// truth is the count of the hollow GPU's libraries by operation of the catalogue.
func truth(t *testing.T, counts string) map[string]uint64 {
	t.Helper()
	rows, err := hollow.Counts(counts)
	if err != nil {
		t.Fatal(err)
	}
	calls, byOp := hollow.By(rows, hollow.Call), map[string]uint64{}
	for i := range event.Catalog {
		for _, symbol := range event.Catalog[i].SymbolNames() {
			byOp[event.Catalog[i].Name] += calls[symbol]
		}
	}
	return byOp
}

func TestEveryCallOfLlamaIsRecorded(t *testing.T) {
	realtest.Require(t)
	kerneltest.Require(t)
	noGraphs := []string{"GGML_CUDA_DISABLE_GRAPHS=1"}
	for _, c := range []struct {
		name string
		cuda int
		sm   int
		env  []string
		args []string
		by   string // the function that launches most kernels
	}{
		{"CUDA 12, decode with graphs", 12, 89, nil, []string{"--tokens", "100"}, "cudaLaunchKernel"},
		{"CUDA 12, decode without graphs", 12, 89, noGraphs, []string{"--tokens", "100"}, "cudaLaunchKernel"},
		{"CUDA 12, sm_90", 12, 90, noGraphs, []string{"--tokens", "100"}, "cudaLaunchKernelExC"},
		{"CUDA 13, decode with graphs", 13, 89, nil, []string{"--tokens", "100"}, "__cudaLaunchKernel"},
		{"CUDA 13, decode without graphs", 13, 89, noGraphs, []string{"--tokens", "100"}, "__cudaLaunchKernel"},
		{"CUDA 13, sm_90", 13, 90, noGraphs, []string{"--tokens", "100"}, "cudaLaunchKernelExC"},
		{"CUDA 13, prompts", 13, 89, nil, []string{"--mode", "prompt", "--tokens", "40"}, "__cudaLaunchKernel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := append([]string{fmt.Sprintf("HOLLOW=kernel.default=100us;device.sm=%d", c.sm)}, c.env...)
			db, counts := traced(t, c.cuda, env, c.args...)
			recorded := query(t, db, "select op, count(*) from calls group by op")
			calls := truth(t, counts)
			for op, n := range calls {
				if recorded[op] != n {
					t.Errorf("%s: %d calls made, %d recorded", op, n, recorded[op])
				}
			}
			for op, n := range recorded {
				if calls[op] == 0 {
					t.Errorf("%s: %d calls recorded, none made", op, n)
				}
			}
			rows, err := hollow.Counts(counts)
			if err != nil {
				t.Fatal(err)
			}
			called := hollow.By(rows, hollow.Call)
			if n := called[c.by]; n < 100 {
				t.Errorf("only %d launches by %s: this run tests something else", n, c.by)
			}
			realtest.Covered(t, fmt.Sprintf("llama.cpp, CUDA %d", c.cuda), called)
		})
	}
}
