package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/cgroup"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A process is recorded in the group whose quota throttled it, also if it was moved into it
// while traced, and after it left.
func TestTheGroupThatThrottledAProcessIsRecorded(t *testing.T) {
	for _, tc := range []struct {
		name, mounts, dir string
		quota             map[string]string // the group's files
		stat              func(ms string) string
		in                func(group string) string // what /proc/PID/cgroup says
		version           uint8
	}{
		{
			name: "version 1",
			mounts: "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / /sys/fs/cgroup/unified rw - " +
				"cgroup2 cgroup2 rw\n",
			dir:   "sys/fs/cgroup/cpu",
			quota: map[string]string{"cpu.cfs_quota_us": "30000\n", "cpu.cfs_period_us": "100000\n"},
			stat:  func(ms string) string { return "nr_periods 10\nnr_throttled 9\nthrottled_time " + ms + "000000\n" },
			in:    func(g string) string { return "4:cpu:" + g + "\n0::/\n" }, version: 1,
		},
		{
			name:   "version 2",
			mounts: "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			dir:    "sys/fs/cgroup",
			quota:  map[string]string{"cpu.max": "30000 100000\n"},
			stat:   func(ms string) string { return "nr_periods 10\nnr_throttled 9\nthrottled_usec " + ms + "000\n" },
			in:     func(g string) string { return "0::" + g + "\n" }, version: 2,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("proc/self/mountinfo", tc.mounts)
			for name, text := range tc.quota {
				write(filepath.Join(tc.dir, "jobs", name), text)
			}
			write(filepath.Join(tc.dir, "jobs/cpu.stat"), tc.stat("100"))
			groups, err := cgroup.New(root)
			if err != nil {
				t.Fatal(err)
			}
			p := newProcessTable(proc.New(filepath.Join(root, "proc")))
			p.machine.groups = groups
			second := time.Unix(1_700_000_000, 0)
			step := func(group string) []store.Throttle {
				write("proc/7/cgroup", tc.in(group))
				second = second.Add(time.Second)
				return p.throttles(nil, second)
			}
			write("proc/7/cgroup", tc.in("/"))
			p.process(7, true)
			step("/")
			step("/jobs")
			if got := p.processes[7].Cgroup; got != "/jobs" {
				t.Errorf("after it was moved, its group is %q", got)
			}
			write(filepath.Join(tc.dir, "jobs/cpu.stat"), tc.stat("750"))
			got := step("/jobs")
			want := store.Throttle{
				At: uint64(second.UnixNano()), Cgroup: "/jobs", NS: 650e6,
				QuotaUS: 30_000, PeriodUS: 100_000, Version: tc.version,
			}
			if len(got) != 1 || got[0] != want {
				t.Errorf("throttled %+v, want %+v", got, want)
			}
			step("/")
			p.process(7, true)
			if got := p.processes[7].Cgroup; got != "/jobs" {
				t.Errorf("after it left the group that held it back, its group is %q", got)
			}
			// Until it is reaped, a dead process is in the root of a hierarchy of version 1.
			write("proc/7/stat", "7 (trainer) Z 1 7 7")
			p.forget(&event.Life{Kind: event.LifeExit, Thread: event.Thread{PID: 7, TID: 7}})
			step("/")
			p.process(7, true)
			if got := p.processes[7].Cgroup; got != "/jobs" {
				t.Errorf("after it ended, its group is %q", got)
			}
		})
	}
}
