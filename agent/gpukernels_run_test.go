package agent_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/store"
)

// namer is a writer that keeps what kernels are called.
type namer struct {
	*counter
	mu    sync.Mutex
	names map[string]string // readable name: how it became known, and the symbol
}

func (n *namer) Write(b *store.Batch) error {
	n.mu.Lock()
	for _, k := range b.Kernels {
		n.names[k.Name] = fmt.Sprintf("%d %s", k.Source, k.Symbol)
	}
	n.mu.Unlock()
	return n.counter.Write(b)
}

func (n *namer) known() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.names)
}

// run traces a victim from its first instruction while it obeys the commands, until
// as many kernels are known as expected.
func (n *namer) run(t *testing.T, program string, kernels int, commands ...string) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	o := n.options()
	o.Command, o.Stdin, o.Stdout = []string{program, "serve"}, in, io.Discard
	o.Record = &agent.Recording{Open: func(store.Session) (store.Writer, error) { return n, nil }}
	o.Started = func(agent.Start) {
		fmt.Fprintln(out, strings.Join(commands, "\n"))
		go func() { // a process is there as long as it may be asked for symbols
			for deadline := time.Now().Add(20 * time.Second); n.known() < kernels && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			out.Close()
		}()
	}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

var launchAll = []string{
	"call cudaLaunchKernel 3 kernel=softmax",
	"call cudaLaunchKernelExC 3 kernel=add",
	"call cudaLaunchCooperativeKernel 3 kernel=gemm",
	"call cuModuleGetFunction 1 name=_Z11scan_kernelILi32EEvPfi", "call cuLaunchKernel 2 kernel=last",
	"call cuLibraryGetKernel 1 name=triton_add", "call cuLaunchKernelEx 2 kernel=last",
	"call cuLibraryGetKernel 1 name=triton_mul", "call cuKernelGetFunction 1 kernel=last",
	"call cuLaunchKernel 2 kernel=last",
}

func TestKernelsAreNamedBySymbolRegistrationAndDriver(t *testing.T) {
	files := extract(t)
	n := &namer{counter: newCounter(), names: map[string]string{}}
	n.run(t, files.Victim, 6, launchAll...)
	want := map[string]string{
		"softmax_kernel<float>": "3 _Z14softmax_kernelIfEvPKT_PS0_i",
		"add_kernel":            "3 _Z10add_kernelPKfS0_Pfi",
		"gemm_kernel<128>":      "1 _Z11gemm_kernelILi128EEvPKfS1_Pfi",
		"scan_kernel<32>":       "2 _Z11scan_kernelILi32EEvPfi",
		"triton_add":            "2 triton_add",
		"triton_mul":            "2 triton_mul",
	}
	if diff := cmp.Diff(want, n.names); diff != "" {
		t.Error(diff)
	}
}

// Without symbols there are the names that the program registers.
func TestKernelsOfAStrippedProgramAreNamedByRegistration(t *testing.T) {
	files := extract(t)
	n := &namer{counter: newCounter(), names: map[string]string{}}
	n.run(t, stripped(t, files), 4, launchAll...)
	want := map[string]string{
		"gemm_kernel<128>": "1 _Z11gemm_kernelILi128EEvPKfS1_Pfi",
		"scan_kernel<32>":  "2 _Z11scan_kernelILi32EEvPfi",
		"triton_add":       "2 triton_add",
		"triton_mul":       "2 triton_mul",
	}
	if diff := cmp.Diff(want, n.names); diff != "" {
		t.Error(diff)
	}
}

// stripped makes a copy of the victim without sections, so without symbols: the
// loader needs none (elf(5): e_shoff, e_shnum and e_shstrndx).
func stripped(t *testing.T, files cudastub.Files) string {
	t.Helper()
	b, err := os.ReadFile(files.Victim)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(b[0x28:], 0)
	binary.LittleEndian.PutUint32(b[0x3c:], 0)
	path := filepath.Join(files.Dir, "victim-stripped")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
