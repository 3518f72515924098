package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// tracepoints asks the kernel at which tracepoints this process has programs: what it
// says of each link that is open here.
func tracepoints(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no descriptors: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "tp_name:"); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// everybody are tracepoints that processes of no interest pass at each system call,
// page or packet.
var everybody = []string{
	"sys_enter", "sys_exit", "mm_page_alloc", "page_fault_user", "page_fault_kernel",
	"net_dev_queue", "netif_receive_skb",
}

// Tracing of CUDA costs nobody else anything for a system call or a page: there are no
// programs on them, unless they are asked for.
func TestProbesOnEveryProcessAreAttachedOnlyOnRequest(t *testing.T) {
	files := extract(t)
	v, err := files.Start(t.Context(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	cuda, other := []int{v.PID()}, []int{os.Getppid()}
	for _, tc := range []struct {
		what      string
		o         agent.Options
		attached  []string
		footprint bool
	}{
		{"every process", agent.Options{}, nil, false},
		{"a process that has CUDA", agent.Options{PIDs: cuda}, nil, false},
		{"a process without CUDA, no footprint", agent.Options{PIDs: other, Footprint: agent.FootprintOff}, nil, false},
		{"a process without CUDA", agent.Options{PIDs: other}, []string{"sys_enter", "sys_exit"}, true},
		{
			"footprint and pages",
			agent.Options{PIDs: cuda, Footprint: agent.FootprintOn, Pages: true},
			[]string{"mm_page_alloc", "sys_enter", "sys_exit"},
			true,
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			o := tc.o
			o.UID, o.Duration = agent.AnyUser, 10*time.Millisecond
			o.Started = func(s agent.Start) {
				all := tracepoints(t)
				var got []string
				for _, name := range all {
					if slices.Contains(everybody, name) {
						got = append(got, name)
					}
				}
				slices.Sort(got)
				if fmt.Sprint(got) != fmt.Sprint(tc.attached) || !slices.Contains(all, "sched_switch") ||
					len(s.Footprint) > 0 != tc.footprint {
					t.Errorf("programs are attached to %v, want %v; all: %v; footprint of %v", got, tc.attached, all, s.Footprint)
				}
			}
			if s, err := agent.Run(t.Context(), o); err != nil || (s.Footprint != nil) != tc.footprint {
				t.Errorf("footprint %+v, %v", s.Footprint, err)
			}
			if left := tracepoints(t); len(left) > 0 {
				t.Errorf("still attached: %v", left)
			}
		})
	}
}
