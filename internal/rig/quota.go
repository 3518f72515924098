package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// ErrNoQuota says that this machine has no CPU controller of control groups (version 1 or 2) in
// which a group can be made.
var ErrNoQuota = errors.New("no CPU controller in which a control group can be made")

// Quota is a control group with a CPU quota.
type Quota struct {
	Path string // as in /proc/PID/cgroup
	Dir  string
}

// NewQuota makes a group that may use us microseconds of CPU time in each period, also in
// microseconds. Remove it when its processes have ended.
func NewQuota(us, period int) (*Quota, error) {
	path := "/ingero-quota-" + strconv.Itoa(os.Getpid())
	for _, v := range []struct {
		mount string
		files [][2]string
	}{
		{
			"/sys/fs/cgroup/cpu",
			[][2]string{{"cpu.cfs_period_us", strconv.Itoa(period)}, {"cpu.cfs_quota_us", strconv.Itoa(us)}},
		},
		{"/sys/fs/cgroup", [][2]string{{"cpu.max", fmt.Sprint(us, " ", period)}}},
		{"/sys/fs/cgroup/unified", [][2]string{{"cpu.max", fmt.Sprint(us, " ", period)}}}, // beside groups of version 1
	} {
		q := &Quota{Path: path, Dir: v.mount + path}
		if _, err := os.Stat(filepath.Join(v.mount, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.Mkdir(q.Dir, 0o755); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(q.Dir, v.files[0][0])); err == nil {
			return q, q.write(v.files...)
		}
		if err := q.Remove(); err != nil { // it has no CPU controller
			return nil, err
		}
	}
	return nil, ErrNoQuota
}

// Move puts a process into the group.
func (q *Quota) Move(pid int) error { return q.write([2]string{"cgroup.procs", strconv.Itoa(pid)}) }

func (q *Quota) write(files ...[2]string) error {
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(q.Dir, f[0]), []byte(f[1]), 0o644); err != nil {
			return fmt.Errorf("use a control group with a quota: %w", err)
		}
	}
	return nil
}

// Remove removes the group. If a process in it is just ending, it waits for up to a second.
func (q *Quota) Remove() (err error) {
	for range 50 {
		if err = os.Remove(q.Dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("remove a control group: %w", err)
}
