package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Memory returns the memory available to programs and the total, in bytes.
func (f FS) Memory() (available, total uint64, err error) {
	b, err := os.ReadFile(filepath.Join(f.root, "meminfo"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			total = kib << 10
		case "MemAvailable:":
			available = kib << 10
		}
	}
	if total == 0 {
		return 0, 0, fmt.Errorf("%s: no MemTotal", filepath.Join(f.root, "meminfo"))
	}
	return available, total, nil
}

// Swapping is the number of bytes swapped since boot.
type Swapping struct{ In, Out uint64 }

// Swapping reads it.
func (f FS) Swapping() (s Swapping, err error) {
	path := filepath.Join(f.root, "vmstat")
	b, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	found := 0
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		to := map[string]*uint64{"pswpin": &s.In, "pswpout": &s.Out}[name]
		if to == nil {
			continue
		}
		pages, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return s, fmt.Errorf("%s: malformed %s", path, name)
		}
		*to = pages * uint64(os.Getpagesize())
		found++
	}
	if found != 2 {
		return s, fmt.Errorf("%s: no count of swapping", path)
	}
	return s, nil
}

// CPUTime is the time of all CPUs since boot, in clock ticks (proc(5),
// /proc/stat).
type CPUTime struct {
	Busy   uint64 // not idle, Stolen included
	Stolen uint64 // taken by the hypervisor while there was work
	Total  uint64
}

// CPUTime reads it, and that of each CPU by its number. Offline CPUs are left out.
func (f FS) CPUTime() (all CPUTime, each map[int]CPUTime, err error) {
	path := filepath.Join(f.root, "stat")
	b, err := os.ReadFile(path)
	if err != nil {
		return all, nil, err
	}
	each = map[int]CPUTime{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			break // they come first
		}
		t, ok := ticks(fields)
		if !ok {
			return all, nil, fmt.Errorf("%s: malformed", path)
		}
		if fields[0] == "cpu" {
			all = t
		} else if n, err := strconv.Atoi(fields[0][len("cpu"):]); err == nil {
			each[n] = t
		}
	}
	if all.Total == 0 {
		return all, nil, fmt.Errorf("%s: malformed", path)
	}
	return all, each, nil
}

// ticks reads a line of /proc/stat.
func ticks(fields []string) (t CPUTime, ok bool) {
	if len(fields) < 6 {
		return t, false
	}
	const idle, iowait, steal, guest = 4, 5, 8, 9 // guest time is contained in user time
	for i, s := range fields[1:] {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return t, false
		}
		if i+1 >= guest {
			break
		}
		t.Total += n
		if i+1 == steal {
			t.Stolen = n
		}
		if i+1 != idle && i+1 != iowait {
			t.Busy += n
		}
	}
	return t, true
}

// Pressure is how long tasks have waited for a resource since boot
// (Documentation/accounting/psi.rst): some of those that were not idle, and all of them.
type Pressure struct{ Some, Full time.Duration }

// Pressure reads that of cpu, memory or io. The kernel may be built or booted
// without it.
func (f FS) Pressure(resource string) (p Pressure, err error) {
	path := filepath.Join(f.root, "pressure", resource)
	b, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		total, ok := strings.CutPrefix(fields[len(fields)-1], "total=")
		us, err := strconv.ParseInt(total, 10, 64)
		if !ok || err != nil || us < 0 {
			return p, fmt.Errorf("%s: malformed", path)
		}
		switch d := time.Duration(us) * time.Microsecond; fields[0] {
		case "some":
			p.Some = d
		case "full":
			p.Full = d
		}
	}
	return p, nil
}

// Boot returns the kernel's boot id: process ids are valid only within it. root is where procfs is
// mounted; empty means /proc. It is empty if unknown.
func Boot(root string) string {
	if root == "" {
		root = "/proc"
	}
	b, err := os.ReadFile(filepath.Join(root, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
