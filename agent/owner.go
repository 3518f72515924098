package agent

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/explain/report"
)

// noProcess is the error for a pid that does not exist. A process in a container may have this pid
// there and another one here, which the error then names.
func noProcess(fs proc.FS, owners *owner.Reader, pid int) error {
	var meant []string
	for _, p := range owners.Inside(pid) {
		name, _ := fs.Comm(p, p) // empty if it is ending
		if o, _ := owners.Of(p); o.String() != "" {
			name += " of " + o.String()
		}
		meant = append(meant, fmt.Sprintf("%d (%s)", p, report.Printable(name)))
	}
	if len(meant) > 0 {
		return fmt.Errorf("%w: %[2]d; in a container, %[2]d is process %[3]s: pass the id that it has here",
			ErrNoProcess, pid, strings.Join(meant, " or "))
	}
	return fmt.Errorf("%w: %d; it may have ended (ingero check lists the processes that use CUDA)", ErrNoProcess, pid)
}
