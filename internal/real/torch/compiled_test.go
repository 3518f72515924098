package torch

import (
	"os"
	"testing"

	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Triton's kernels are compiled just before they run, and launched through the driver.
func TestCompiledTrainingIsRecordedCallForCall(t *testing.T) {
	f := fetch(t)
	if err := f.FetchTriton(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	made := t.TempDir() // each run compiles anew
	t.Setenv("TORCHINDUCTOR_CACHE_DIR", made)
	t.Setenv("TRITON_CACHE_DIR", made)
	t.Setenv("TORCHINDUCTOR_COMPILE_THREADS", "1") // no compile processes that use CPUs meanwhile
	r := trace(t, &f, "", "compiled.py", "--steps", "50")
	r.Compare(t)
	realtest.Covered(t, "PyTorch, torch.compile", r.Called)
	if n := r.Called["cuLaunchKernel"]; n < 3*50 {
		t.Errorf("only %d kernels launched by the driver's function", n)
	}
	if n := count(t, r.DB, `kernel like 'triton_%'`); n < 3*50 {
		t.Errorf("only %d launches are recorded with the name of a kernel of Triton's", n)
	}
}

// count is the number of recorded events that match an SQL condition.
func count(t *testing.T, db, such string) int64 {
	t.Helper()
	q, err := sqlite.Query(t.Context(), db, "select count(*) from events where "+such, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if !q.Next() {
		t.Fatal(q.Err())
	}
	return q.Values()[0].(int64)
}
