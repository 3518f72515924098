package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/probe/memory"
)

// memory says which kinds of memory reclaim this kernel reports.
func (e *exam) memory() Check {
	c := Check{Name: "memory", Status: OK, Detail: "reclaim, reclaim at a control group's limit and compaction are seen"}
	hooks, err := memory.Tracepoints()
	if err != nil {
		c.Status, c.Detail = Info, fmt.Sprintf("memory reclaim is not seen: %v", err)
		return c
	}
	var missing []string
	for name, there := range hooks {
		if !there {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		c.Status = Info
		c.Detail = "not all memory reclaim is seen: the kernel has no " + strings.Join(missing, ", ")
	}
	return c
}
