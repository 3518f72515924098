// Package cgroup reads CPU quotas, throttling and memory limits of control groups: version 1,
// version 2, and the hybrid layout in which these controllers are still version 1. It changes
// nothing, and handles no other controller.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/limit"
)

// ErrNoController says that no mounted hierarchy has the process's CPU
// controller.
var ErrNoController = errors.New("no CPU controller for this process")

// Group is a control group with a CPU quota. The counters are running totals.
type Group struct {
	Path        string // in its hierarchy: "/system.slice/job.service"
	QuotaUS     uint64 // CPU time per period
	PeriodUS    uint64
	Version     uint8  // of control groups: 1 or 2
	Periods     uint64 // those that began with a runnable thread in the group
	Throttled   uint64 // those in which the quota was used up
	ThrottledNS uint64 // summed over CPUs, so it may exceed the wall clock's time
}

// CPUs is the number of CPUs that the quota amounts to.
func (g Group) CPUs() float64 {
	if g.PeriodUS == 0 {
		return 0
	}
	return float64(g.QuotaUS) / float64(g.PeriodUS)
}

// Reader reads the control groups of one machine.
type Reader struct {
	v1, v2   *hierarchy // nil if not mounted; v1 is that of the CPU controller
	v1memory *hierarchy // nil if the memory controller is not version 1
}

// hierarchy is a mounted tree of control groups.
type hierarchy struct {
	dir  string // where it is mounted
	root string // the group mounted there; "/" except in some containers
}

// New finds the hierarchies mounted in the file system below root; empty means
// "/". Having none is not an error: then nothing has a quota.
func New(root string) (*Reader, error) {
	if root == "" {
		root = "/"
	}
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("find control groups: %w", err)
	}
	defer f.Close()
	var r Reader
	s := bufio.NewScanner(io.LimitReader(f, limit.MountInfo))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m, ok := parseMount(s.Text())
		if !ok {
			continue
		}
		h := &hierarchy{filepath.Join(root, m.dir), m.root}
		switch {
		case m.kind == "cgroup2":
			r.v2 = better(r.v2, h)
		case m.kind == "cgroup" && slices.Contains(m.options, "cpu"):
			r.v1 = better(r.v1, h)
		case m.kind == "cgroup" && slices.Contains(m.options, "memory"):
			r.v1memory = better(r.v1memory, h)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("find control groups: %w", err)
	}
	return &r, nil
}

// better prefers the mount that shows the whole hierarchy, then the first.
func better(old, h *hierarchy) *hierarchy {
	if old == nil || old.root != "/" && h.root == "/" {
		return h
	}
	return old
}

type mount struct {
	root, dir, kind string
	options         []string
}

// parseMount reads a line of mountinfo (proc_pid_mountinfo(5)):
// "36 35 98:0 /root /dir rw,noatime master:1 - cgroup source rw,cpu".
func parseMount(line string) (m mount, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	if !ok {
		return m, false
	}
	b, a := strings.Fields(before), strings.Fields(after)
	if len(b) < 5 || len(a) < 1 {
		return m, false
	}
	m = mount{root: unescape(b[3]), dir: unescape(b[4]), kind: a[0]}
	if len(a) > 2 {
		m.options = strings.Split(a[2], ",")
	}
	return m, true
}

// unescape replaces mountinfo's octal escapes: \040 is a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// CPU returns the groups with a quota that a process is in: its own and those around it, innermost
// first. groups is the content of /proc/PID/cgroup, by controller (proc.FS.Cgroups). It returns
// fs.ErrNotExist if a group no longer exists.
func (r *Reader) CPU(groups map[string]string) ([]Group, error) {
	h, at, read, err := r.cpu(groups)
	if err != nil {
		return nil, err
	}
	dir, ok := h.path(at)
	if !ok {
		return nil, fmt.Errorf("read control group %s: outside of what is mounted here: %w", at, fs.ErrNotExist)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read control group: %w", err)
	}
	var found []Group
	for {
		g := Group{Path: at}
		limited, err := read(dir, &g)
		if err != nil {
			return nil, fmt.Errorf("read control group %s: %w", at, err)
		}
		if limited {
			found = append(found, g)
		}
		if dir == h.dir {
			return found, nil
		}
		at, dir = path.Dir(at), filepath.Dir(dir)
	}
}

// cpu returns the hierarchy with the CPU controller, the process's group in it,
// and how to read one. A version 1 hierarchy takes the controller away from
// version 2.
func (r *Reader) cpu(groups map[string]string) (*hierarchy, string, func(string, *Group) (bool, error), error) {
	if p, ok := groups["cpu"]; ok && r.v1 != nil {
		return r.v1, path.Clean(p), readV1, nil
	}
	if p, ok := groups[""]; ok && r.v2 != nil && r.v1 == nil {
		return r.v2, path.Clean(p), readV2, nil
	}
	return nil, "", nil, ErrNoController
}

// path returns the folder of a group; ok is false if it is not below the mount.
func (h *hierarchy) path(group string) (dir string, ok bool) {
	group = path.Clean(group)
	if strings.HasPrefix(group, "/..") {
		return "", false // above the root of our control group namespace
	}
	if h.root == "/" || strings.HasPrefix(h.root, "/..") {
		return filepath.Join(h.dir, group), true
	}
	rest, ok := strings.CutPrefix(group, h.root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return filepath.Join(h.dir, rest), true
}

// ID is the number of a group in the kernel and eBPF: the inode of its folder in the version 2
// hierarchy, else in that of the version 1 CPU controller.
func (r *Reader) ID(group string) (uint64, error) {
	for _, h := range []*hierarchy{r.v2, r.v1} {
		if h == nil {
			continue
		}
		dir, ok := h.path(group)
		if !ok {
			continue
		}
		if i, err := os.Stat(dir); err == nil {
			if s, ok := i.Sys().(*syscall.Stat_t); ok {
				return s.Ino, nil
			}
		}
	}
	return 0, fmt.Errorf("find control group %s: %w", group, fs.ErrNotExist)
}

// readV1 reads cpu.cfs_quota_us (-1 is none), cpu.cfs_period_us and cpu.stat.
func readV1(dir string, g *Group) (bool, error) {
	quota, ok, err := readWords(dir, "cpu.cfs_quota_us")
	if !ok || err != nil || strings.HasPrefix(quota[0], "-") {
		return false, err
	}
	period, ok, err := readWords(dir, "cpu.cfs_period_us")
	if !ok || err != nil {
		return false, err
	}
	if err := setQuota(g, quota[0], period[0]); err != nil {
		return false, err
	}
	g.Version = 1
	return true, stat(dir, g)
}

// readV2 reads cpu.max ("max 100000" is none) and cpu.stat. The root group, and
// groups for which the controller is off, have no cpu.max.
func readV2(dir string, g *Group) (bool, error) {
	w, ok, err := readWords(dir, "cpu.max")
	if !ok || err != nil || w[0] == "max" {
		return false, err
	}
	if len(w) < 2 {
		return false, errors.New("cpu.max: malformed")
	}
	if err := setQuota(g, w[0], w[1]); err != nil {
		return false, err
	}
	g.Version = 2
	return true, stat(dir, g)
}

func setQuota(g *Group, quota, period string) error {
	var errs [2]error
	g.QuotaUS, errs[0] = strconv.ParseUint(quota, 10, 64)
	g.PeriodUS, errs[1] = strconv.ParseUint(period, 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	return nil
}

// stat reads the counters. Version 1 has throttled_time in ns, version 2
// throttled_usec.
func stat(dir string, g *Group) error {
	w, ok, err := readWords(dir, "cpu.stat")
	if !ok || err != nil {
		return err
	}
	for i := 0; i+1 < len(w); i += 2 {
		n, err := strconv.ParseUint(w[i+1], 10, 64)
		if err != nil {
			return fmt.Errorf("cpu.stat: %w", err)
		}
		switch w[i] {
		case "nr_periods":
			g.Periods = n
		case "nr_throttled":
			g.Throttled = n
		case "throttled_time":
			g.ThrottledNS = n
		case "throttled_usec":
			g.ThrottledNS = min(n, math.MaxUint64/1000) * 1000
		}
	}
	return nil
}

// readWords splits a small file; ok is false if it is missing or empty.
func readWords(dir, name string) (w []string, ok bool, err error) {
	b, _, err := limit.ReadFile(filepath.Join(dir, name), limit.SmallProc)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) { // ENODEV: removed while open
		return nil, false, nil
	}
	w = strings.Fields(string(b))
	return w, len(w) > 0, err
}
