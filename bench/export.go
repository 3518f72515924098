package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// exportedMB is the target of an export's peak memory.
const exportedMB = 300

// allStored is more calls a second than the recording has, so that none is thinned.
const allStored = 1 << 30

// measureExport exports a generated recording in every format. The quick form has a tenth of the
// calls.
func measureExport(ctx context.Context, l *lab) ([]Row, error) {
	calls, name := pick(l, 1_000_000, 10_000_000), pick(l, "a million calls", "10 million calls")
	path := filepath.Join(l.dir, "exported.db")
	l.say("export: making a recording of %d calls, each stored", calls)
	err := storetest.Build(path, storetest.Load{Calls: calls, Threads: 4, Graphs: true},
		sqlite.Options{RawRate: allStored})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i := range export.Formats {
		format := export.Formats[i].Name
		l.say("export: %s as %s", name, format)
		r, err := l.ingero(ctx, "export", path, "--format", format, "--out", "-")
		if err != nil {
			return rows, err
		}
		rows = append(rows, Row{
			Name: fmt.Sprintf("%s as %s, peak memory", name, format), Unit: Megabytes, Measured: r.peak,
			Target: atMost(exportedMB),
			Detail: map[string]float64{"wall_s": r.wall, "cpu_s": r.cpu},
		}.judge())
	}
	return rows, nil
}
