package doctor

import (
	"os"
	"strings"

	"github.com/ingero-io/ingero/capture/host/tracers"
)

// others says which tracers run; nothing if none does.
func (e *exam) others() []Check {
	var list []string
	for _, t := range tracers.Others(e.fs, os.Getpid()) {
		list = append(list, t.String())
	}
	switch {
	case len(list) == 0:
		return nil
	case len(list) == 1:
		return []Check{{Name: "tracers", Status: Info, Detail: "a tracer is running (" + list[0] + ")"}}
	}
	return []Check{{
		Name: "tracers", Status: Warning,
		Detail: "several tracers are running (" + strings.Join(list, "; ") + "): " + tracers.Cost,
		Remedy: "end all but one; one tracer can serve everybody: --dashboard, --mcp, --otlp, --prometheus",
	}}
}
