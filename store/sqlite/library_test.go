package sqlite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	zsqlite "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

const librariesInSQL = "select node || ' ' || process || ' ' || pid || ' ' || name || ' ' || coalesce(version, '-') || ' ' || " +
	"coalesce(build_id, '-') || ' ' || coalesce(size, '-') from gpu_libraries order by node, pid, timestamp"

// A file is there once for a process, whose id may be used again; of each machine of a merged recording.
func TestTheLibrariesOfProcesses(t *testing.T) {
	t.Parallel()
	cudart := store.Library{
		At: t0 + 5, PID: 100, Name: "libcudart.so.12", Path: "/cuda/libcudart.so.12.4.127", Version: "12.4.127", BuildID: "ab",
		Size: 7,
	}
	again, replaced, other := cudart, cudart, cudart
	again.At, replaced.At = t0+9, t0+10
	replaced.BuildID, replaced.Size = "cd", 8
	other.PID, other.Version, other.BuildID, other.Size = 200, "", "", 0
	processes := []store.Process{{PID: 100, Name: "engine"}, {PID: 200, Name: "worker"}}
	a := recordingOf(t, "gpu-01", store.Session{Boot: "x", PID: 50}, &store.Batch{Tables: store.Tables{
		Processes: processes, Libraries: []store.Library{cudart, again, other, replaced},
	}})
	b := recordingOf(t, "gpu-02", store.Session{Boot: "y", PID: 60}, &store.Batch{Tables: store.Tables{
		Processes: processes, Libraries: []store.Library{replaced},
	}})
	r := reader(t, a)
	libraries, err := store.List[store.Library](t.Context(), r, store.Window{})
	must(t, err)
	if d := cmp.Diff([]store.Library{cudart, replaced, other}, libraries); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	out, _ := merge(t, a, b)
	var got []string
	for _, row := range query(t, out, librariesInSQL) {
		got = append(got, row[0].(string))
	}
	if d := cmp.Diff([]string{
		"gpu-01 engine 100 libcudart.so.12 12.4.127 ab 7",
		"gpu-01 engine 100 libcudart.so.12 12.4.127 cd 8",
		"gpu-01 worker 200 libcudart.so.12 - - -",
		"gpu-02 engine 100 libcudart.so.12 12.4.127 cd 8",
	}, got); d != "" {
		t.Errorf("merged (-want +got):\n%s", d)
	}
}

// A recording from before libraries were recorded has none.
func TestARecordingWithoutLibrariesHasNone(t *testing.T) {
	t.Parallel()
	path := recordingOf(t, "gpu-01", store.Session{}, &store.Batch{Tables: store.Tables{Processes: []store.Process{{PID: 100, Name: "engine"}}}})
	c, err := zsqlite.OpenConn(path, zsqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, "drop view gpu_libraries; drop table library; pragma user_version = 25;", nil))
	must(t, c.Close())
	r := reader(t, path)
	if libraries, err := store.List[store.Library](t.Context(), r, store.Window{}); len(libraries) != 0 || err != nil {
		t.Errorf("%v, %v", libraries, err)
	}
	if rows := query(t, path, librariesInSQL); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}
