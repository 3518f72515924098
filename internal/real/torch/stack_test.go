package torch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// deep waits for the GPU deep in libtorch. The comments are its line numbers.
const deep = `import torch

def leaf(x):
    return x.sum().item()  # 4

def middle(x):
    return leaf(x)  # 7

x = torch.ones(1000, device="cuda")
for _ in range(300):
    middle(x)  # 11
`

// A call that libtorch makes for a script has the script's lines in its stack, in order, although
// frames of several libraries are between them.
func TestCallsOfLibtorchHaveTheLinesOfTheScript(t *testing.T) {
	f := fetch(t)
	script := filepath.Join(t.TempDir(), "deep.py")
	if err := os.WriteFile(script, []byte(deep), 0o600); err != nil {
		t.Fatal(err)
	}
	r := traceWith(t, &f, "", probe.StackAll, script)
	const frames = "select f.stack_hash, c.n, f.file, f.line, f.module from stack_frames f join (select stack_hash, " +
		"count(*) as n from calls where op = 'cudaStreamSynchronize' and stack_hash <> 0 and depth = 0 group by 1) c " +
		"on c.stack_hash = f.stack_hash order by f.stack_hash, f.depth"
	q, err := sqlite.Query(t.Context(), r.DB, frames, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	lines, through, calls := map[string]string{}, map[string]bool{}, map[string]int64{}
	for q.Next() {
		v := q.Values()
		hash := fmt.Sprint(v[0])
		calls[hash] = v[1].(int64)
		if strings.HasSuffix(fmt.Sprint(v[2]), "deep.py") {
			lines[hash] += fmt.Sprint(v[3], " ")
		}
		through[hash] = through[hash] || strings.Contains(fmt.Sprint(v[4]), "libtorch")
	}
	if err := q.Err(); err != nil {
		t.Fatal(err)
	}
	var all, right int64
	for hash, n := range calls {
		if !through[hash] {
			continue
		}
		all += n
		if lines[hash] == "4 7 11 " {
			right += n
			continue
		}
		t.Logf("%d calls have the lines %q", n, lines[hash])
	}
	if all < 100 || float64(right) < 0.99*float64(all) {
		t.Errorf("%d of %d calls through libtorch have the lines of the script, want 99 %%", right, all)
	}
}
