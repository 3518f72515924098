package cgroup_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/cgroup"
	"github.com/ingero-io/ingero/capture/host/proc"
)

// tree is a file system: contents by path. A path ending in "/" is a folder.
type tree map[string]string

func (tr tree) reader(t testing.TB) (*cgroup.Reader, string) {
	t.Helper()
	root := t.TempDir()
	for name, content := range tr {
		p := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := cgroup.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return r, root
}

const (
	noise = "22 27 0:21 / /proc rw,relatime - proc proc rw\n23 27 0:22 / /sys rw shared:1 - sysfs sysfs rw\nmalformed\n"
	v1    = noise + "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n34 31 0:31 / " +
		"/sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	hybrid = v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
	v2     = noise + "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"

	statV1 = "nr_periods 100\nnr_throttled 7\nthrottled_time 123456789\nnr_bursts 0\nburst_time 0\n"
	statV2 = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 100\nnr_throttled 7\nthrottled_usec 123456\n"
)

func TestQuotasOfAGroupAndItsAncestors(t *testing.T) {
	cpu, unified := "sys/fs/cgroup/cpu,cpuacct/", "sys/fs/cgroup/"
	v1Files := tree{
		"proc/self/mountinfo":             v1,
		cpu + "cpu.cfs_quota_us":          "-1\n",
		cpu + "cpu.cfs_period_us":         "100000\n",
		cpu + "cpu.stat":                  statV1,
		cpu + "jobs/cpu.cfs_quota_us":     "150000\n",
		cpu + "jobs/cpu.cfs_period_us":    "100000\n",
		cpu + "jobs/cpu.stat":             statV1,
		cpu + "jobs/j1/cpu.cfs_quota_us":  "-1\n",
		cpu + "jobs/j1/cpu.cfs_period_us": "100000\n",
		cpu + "jobs/j1/x/":                "",
	}
	jobs := cgroup.Group{
		Path: "/jobs", QuotaUS: 150000, PeriodUS: 100000, Version: 1, Periods: 100, Throttled: 7,
		ThrottledNS: 123456789,
	}
	hybridFiles := tree{"sys/fs/cgroup/unified/jobs/": ""}
	maps.Copy(hybridFiles, v1Files)
	hybridFiles["proc/self/mountinfo"] = hybrid
	v2Files := tree{
		"proc/self/mountinfo":          v2,
		unified + "cpu.stat":           statV2,
		unified + "a/cpu.max":          "50000 100000\n",
		unified + "a/cpu.stat":         statV2,
		unified + "a/b/cpu.max":        "max 100000\n",
		unified + "a/b/cpu.stat":       statV2,
		unified + "a/b/c/cpu.max":      "1000 10000\n",
		unified + "a/b/c/cpu.stat":     "usage_usec 5\n",
		unified + "a/b/c/off/cpu.stat": statV2,
	}
	container := tree{
		"proc/self/mountinfo": noise +
			`32 31 0:29 /docker/0\0401 /mnt/my\040groups ro - cgroup cgroup rw,cpu` + "\n",
		"mnt/my groups/cpu.cfs_quota_us":      "20000",
		"mnt/my groups/cpu.cfs_period_us":     "10000",
		"mnt/my groups/sub/cpu.cfs_quota_us":  "-1",
		"mnt/my groups/sub/cpu.cfs_period_us": "10000",
	}
	tests := []struct {
		name   string
		tree   tree
		groups map[string]string
		want   []cgroup.Group
		err    error
	}{
		{"v1 nested", v1Files, map[string]string{"cpu": "/jobs/j1/x", "cpuset": "/"}, []cgroup.Group{jobs}, nil},
		{"v1 own", v1Files, map[string]string{"cpu": "/jobs"}, []cgroup.Group{jobs}, nil},
		{"v1 root", v1Files, map[string]string{"cpu": "/"}, nil, nil},
		{"v1 gone", v1Files, map[string]string{"cpu": "/jobs/none"}, nil, fs.ErrNotExist},
		{"v1 without the controller", v1Files, map[string]string{"": "/jobs"}, nil, cgroup.ErrNoController},
		{"hybrid", hybridFiles, map[string]string{"cpu": "/jobs", "": "/jobs"}, []cgroup.Group{jobs}, nil},
		{"v2 nested", v2Files, map[string]string{"": "/a/b/c/off"}, []cgroup.Group{
			{Path: "/a/b/c", QuotaUS: 1000, PeriodUS: 10000, Version: 2},
			{Path: "/a", QuotaUS: 50000, PeriodUS: 100000, Version: 2, Periods: 100, Throttled: 7, ThrottledNS: 123456000},
		}, nil},
		{"v2 above our namespace", v2Files, map[string]string{"": "/../other"}, nil, fs.ErrNotExist},
		{"container", container, map[string]string{"cpu": "/docker/0 1/sub"}, []cgroup.Group{
			{Path: "/docker/0 1", QuotaUS: 20000, PeriodUS: 10000, Version: 1},
		}, nil},
		{"container, other's group", container, map[string]string{"cpu": "/docker/0 12"}, nil, fs.ErrNotExist},
		{"none", tree{"proc/self/mountinfo": noise}, map[string]string{"cpu": "/"}, nil, cgroup.ErrNoController},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := tt.tree.reader(t)
			got, err := r.CPU(tt.groups)
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestQuotaInCPUs(t *testing.T) {
	if got := (cgroup.Group{QuotaUS: 150000, PeriodUS: 100000}).CPUs(); got != 1.5 {
		t.Errorf("got %v", got)
	}
	if got := (cgroup.Group{}).CPUs(); got != 0 {
		t.Errorf("got %v", got)
	}
}

func TestMalformedFilesAreErrors(t *testing.T) {
	for name, files := range map[string]tree{
		"quota":  {"cpu.max": "many 100000\n"},
		"period": {"cpu.max": "1000\n"},
		"stat":   {"cpu.max": "1000 10000", "cpu.stat": "nr_periods x\n"},
	} {
		tr := tree{"proc/self/mountinfo": v2}
		for k, v := range files {
			tr["sys/fs/cgroup/g/"+k] = v
		}
		r, _ := tr.reader(t)
		if g, err := r.CPU(map[string]string{"": "/g"}); err == nil {
			t.Errorf("%s: no error, got %+v", name, g)
		}
	}
}

func TestIDIsTheInodeOfTheFolder(t *testing.T) {
	r, root := tree{
		"proc/self/mountinfo":             hybrid,
		"sys/fs/cgroup/cpu,cpuacct/both/": "",
		"sys/fs/cgroup/cpu,cpuacct/old/":  "",
		"sys/fs/cgroup/unified/both/":     "",
	}.reader(t)
	for group, dir := range map[string]string{"/both": "unified/both", "/old": "cpu,cpuacct/old", "/": "unified"} {
		i, err := os.Stat(filepath.Join(root, "sys/fs/cgroup", dir))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.ID(group); got != inode(i) || err != nil {
			t.Errorf("%s: got %d, %v, want %d", group, got, err, inode(i))
		}
	}
	if id, err := r.ID("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %d, %v", id, err)
	}
}

// limited makes a group with a tenth of a CPU, in whatever layout this machine
// has.
func limited(t *testing.T) (dir string) {
	t.Helper()
	name := "ingero-test-" + strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		dir   string
		files map[string]string
	}{
		{"/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": "10000", "cpu.cfs_quota_us": "1000"}},
		{"/sys/fs/cgroup", map[string]string{"cpu.max": "1000 10000"}},
	} {
		dir := filepath.Join(c.dir, name)
		if _, err := os.Stat(filepath.Join(c.dir, "cgroup.procs")); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		ok := true
		for f, content := range c.files {
			ok = os.WriteFile(filepath.Join(dir, f), []byte(content), 0o644) == nil && ok
		}
		if ok {
			return dir
		}
	}
	t.Skip("needs root and a control group to make another one in")
	return ""
}

func TestThrottlingOfARealGroup(t *testing.T) {
	dir := limited(t)
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"
	})
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, cmd.Process.Pid), 0o644); err != nil {
		t.Skip("cannot move a process into the group: ", err)
	}
	groups, err := proc.New("").Cgroups(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r, err := cgroup.New("")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		g, err := r.CPU(groups)
		if err != nil {
			t.Fatal(err)
		}
		if len(g) == 0 || g[0].QuotaUS != 1000 || g[0].PeriodUS != 10000 || filepath.Base(g[0].Path) != filepath.Base(dir) {
			t.Fatalf("got %+v", g)
		}
		if g[0].Throttled >= 3 && g[0].ThrottledNS > uint64(3*time.Millisecond) && g[0].Periods >= g[0].Throttled {
			t.Logf("%+v", g[0])
			return
		}
	}
	t.Error("no throttling seen in 10 s")
}
