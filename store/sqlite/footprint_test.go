package sqlite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// footprints are two readings of a process; the second has more of the same.
func footprints() (first, second, both event.Footprint) {
	first = event.Footprint{
		At: t0 + 50,
		Syscalls: []event.SyscallCount{
			{At: t0 + 50, PID: 100, Nr: 0, Calls: 3, Errors: 1, NS: 90, CPUNS: 20, MaxNS: 50},
			{At: t0 + 50, PID: 100, Nr: 999, Calls: 1, NS: 7, CPUNS: 7, MaxNS: 7},
		},
		Errors: []event.SyscallError{{PID: 100, Nr: 0, Errno: 11, Count: 1}},
		Touched: []event.Touched{
			{
				PID: 100, Kind: event.TouchFile, Device: 5, Inode: 9, Generation: 2, Path: "/data/a", Opens: 1, Reads: 1,
				ReadBytes: 10, First: t0 + 1,
			},
			{
				PID: 100, Kind: event.TouchSocket, Device: 6, Inode: 1, Opens: 1, WriteBytes: 1 << 40, Writes: 2, Errors: 3,
				First: t0 + 2, Endpoint: event.Endpoint{
					Family: "inet6", Protocol: "tcp", LocalPort: 40000, RemotePort: 443, Remote: "::1", Peer: 8, How: event.HowConnect,
				},
			},
		},
		Misses:    []event.Miss{{PID: 100, Errno: 2, Path: "no", Count: 4}},
		Programs:  []event.Program{{At: t0 + 40, PID: 101, Path: "/bin/sh", Args: []string{"sh", "-c", "a b"}}},
		Libraries: []event.MappedLibrary{{PID: 100, Path: "/lib/libc.so.6"}},
		CPU:       []event.ProcessCPU{{PID: 100, Parent: 1, Comm: "engine", First: t0, NS: 500, InNS: 27}},
	}
	second = event.Footprint{
		At:       t0 + 1_000_000_050,
		Syscalls: []event.SyscallCount{{At: t0 + 1_000_000_050, PID: 100, Nr: 0, Calls: 4, NS: 40, CPUNS: 4}},
		Touched:  []event.Touched{first.Touched[0]},
		CPU:      []event.ProcessCPU{{PID: 100, Parent: 1, Comm: "engine", First: t0, Ended: t0 + 9, NS: 600, InNS: 31}},
	}
	second.Touched[0].ReadBytes = 99
	both = first
	both.At = 0
	both.Syscalls = append(both.Syscalls[:2:2], second.Syscalls...)
	both.Touched = []event.Touched{second.Touched[0], first.Touched[1]}
	both.CPU = second.CPU
	return first, second, both
}

func recordFootprints(t *testing.T) (path string, want event.Footprint) {
	w, path := create(t, sqlite.Options{Session: store.Session{Node: "n", Arch: "amd64"}})
	first, second, want := footprints()
	for _, f := range []*event.Footprint{&first, {At: t0 + 60}, nil, &second} {
		must(t, w.Write(&store.Batch{Footprint: f}))
	}
	must(t, w.Close())
	return path, want
}

func TestFootprintIsReadBack(t *testing.T) {
	t.Parallel()
	path, want := recordFootprints(t)
	r := reader(t, path)
	got, err := r.Footprint(t.Context(), store.Window{})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("footprint (-want +got):\n%s", d)
	}
	got, err = r.Footprint(t.Context(), store.Window{From: t0 + 100})
	must(t, err)
	if len(got.Syscalls) != 1 || len(got.Programs) != 0 || len(got.Touched) != 2 {
		t.Errorf("of the second half: %+v", got)
	}
	got, err = r.Footprint(t.Context(), store.Window{From: t0 + 2_000_000_000})
	must(t, err)
	if !got.IsZero() {
		t.Errorf("of a window in which nothing was counted: %+v", got)
	}
}

func TestFootprintViews(t *testing.T) {
	t.Parallel()
	path, _ := recordFootprints(t)
	for query, want := range map[string]string{
		"select comm || syscall || count(*) from host_events group by syscall order by count(*) desc limit 1":            "engineread7",
		"select min(duration_ns) || '/' || max(duration_ns) || '/' || sum(duration_ns) from host_events where pid = 100": "7/50/137",
		"select sum(calls) || '/' || sum(errors) || '/' || max(max_ns) from syscalls where syscall = 'read'":             "7/1/50",
		"select syscall || calls from syscalls where number = 999":                                                       "syscall_9991",
		"select comm || syscall || error || count from syscall_errors":                                                   "enginereadEAGAIN1",
		"select kind || path || read_bytes || '/' || count(*) from files":                                                "file/data/a99/1",
		"select role || remote || remote_port || '/' || write_bytes || '/' || errors from sockets":                       "connect::1443/1099511627776/3",
		"select path || error || count from missing_files":                                                               "noENOENT4",
		"select path || (args ->> 2) || pid from programs":                                                               "/bin/sha b101",
		"select comm || path from libraries":                                                                             "engine/lib/libc.so.6",
		"select op || protocol || remote || remote_port || '/' || bytes || comm from net_events":                         "connecttcp::1443/1099511627776engine",
		"select op || path || bytes || comm from io_events":                                                              "read/data/a99engine",
		"select comm || cpu_ns || '/' || user_ns || '/' || kernel_ns || '/' || parent_pid from footprints":               "engine600/569/31/1",
	} {
		rows, err := sqlite.Query(t.Context(), path, query, store.Limits{})
		must(t, err)
		if !rows.Next() {
			t.Errorf("%s: no row, %v", query, rows.Err())
		} else if got := rows.Values()[0]; got != want {
			t.Errorf("%s = %v, want %s", query, got, want)
		}
		must(t, rows.Close())
	}
}
