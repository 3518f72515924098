package cgroup

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// MemoryLimit is a control group that limits memory.
type MemoryLimit struct {
	Path  string // in its hierarchy
	Bytes uint64
}

// unlimited is the value from which a version 1 limit is no limit: the kernel shows the largest
// number of whole pages (PAGE_COUNTER_MAX).
const unlimited = math.MaxInt64 / 2

// Memory returns the smallest memory limit of a process: of its own group or of one around it. It
// is zero if there is none. groups is the content of /proc/PID/cgroup, by controller.
func (r *Reader) Memory(groups map[string]string) (MemoryLimit, error) {
	h, at, files := r.v2, path.Clean(groups[""]), []string{"memory.max", "memory.high"}
	if p, ok := groups["memory"]; ok && r.v1memory != nil {
		h, at, files = r.v1memory, path.Clean(p), []string{"memory.limit_in_bytes"}
	}
	var least MemoryLimit
	if h == nil {
		return least, ErrNoController
	}
	dir, ok := h.path(at)
	if !ok {
		return least, fmt.Errorf("read control group %s: outside of what is mounted here: %w", at, fs.ErrNotExist)
	}
	if _, err := os.Stat(dir); err != nil {
		return least, fmt.Errorf("read control group: %w", err)
	}
	for {
		for _, name := range files {
			w, ok, err := readWords(dir, name)
			if err != nil {
				return least, fmt.Errorf("read control group %s: %w", at, err)
			}
			if !ok || w[0] == "max" {
				continue
			}
			n, err := strconv.ParseUint(w[0], 10, 64)
			if err != nil {
				return least, fmt.Errorf("read control group %s: %s: %w", at, name, err)
			}
			if n < unlimited && (least.Bytes == 0 || n < least.Bytes) {
				least = MemoryLimit{at, n}
			}
		}
		if dir == h.dir {
			return least, nil
		}
		at, dir = path.Dir(at), filepath.Dir(dir)
	}
}
