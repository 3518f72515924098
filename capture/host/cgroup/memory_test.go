package cgroup_test

import (
	"testing"

	"github.com/ingero-io/ingero/capture/host/cgroup"
)

func TestTheLowestMemoryLimitApplies(t *testing.T) {
	const v1Memory = v1 + "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	for name, c := range map[string]struct {
		tree   tree
		groups map[string]string
		want   cgroup.MemoryLimit
	}{
		"version 2, around": {tree{
			"proc/self/mountinfo": v2, "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.high": "max\n",
			"sys/fs/cgroup/a/memory.max": "1048576\n",
		}, map[string]string{"": "/a/b"}, cgroup.MemoryLimit{Path: "/a", Bytes: 1 << 20}},
		"version 2, high": {tree{
			"proc/self/mountinfo": v2, "sys/fs/cgroup/a/memory.max": "4096\n", "sys/fs/cgroup/a/memory.high": "2048\n",
		}, map[string]string{"": "/a"}, cgroup.MemoryLimit{Path: "/a", Bytes: 2048}},
		"version 1": {tree{
			"proc/self/mountinfo": v1Memory, "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "5000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, map[string]string{"memory": "/m", "cpu": "/c"}, cgroup.MemoryLimit{Path: "/m", Bytes: 5000}},
		"none": {tree{
			"proc/self/mountinfo": v1Memory, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, map[string]string{"memory": "/"}, cgroup.MemoryLimit{}},
	} {
		r, _ := c.tree.reader(t)
		if got, err := r.Memory(c.groups); got != c.want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	r, _ := tree{"proc/self/mountinfo": v1Memory}.reader(t)
	if _, err := r.Memory(map[string]string{"memory": "/gone"}); err == nil {
		t.Error("a group that is gone has a limit")
	}
	r, _ = tree{"proc/self/mountinfo": v2, "sys/fs/cgroup/a/memory.max": "lots\n"}.reader(t)
	if _, err := r.Memory(map[string]string{"": "/a"}); err == nil {
		t.Error("a malformed limit was read")
	}
}
