package soak

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is a reading of the tracer.
type sample struct {
	at      time.Time
	minutes float64 // since the beginning
	life    int

	rss                   int64 // bytes
	own                   int64 // bytes, of rss: what the program itself allocated
	descriptors, mappings int
	open                  map[string]int // descriptors by what they are of
	links, programs, maps int
	ticks                 int64 // of CPU time, 1/100 s
	file                  int64 // bytes of the recording, with SQLite's files beside it
	rates                 bool  // there is a reading before, of the same life
	cpu                   float64
	grown                 float64 // bytes a second
}

// readSample reads what the kernel says of a process and of its eBPF descriptors, and the size of its recording.
func readSample(pid int, recording string) (s sample, err error) {
	s.at = time.Now()
	proc := "/proc/" + strconv.Itoa(pid)
	if err := s.readStat(proc); err != nil {
		return s, err
	}
	if s.own, err = ownMemory(proc); err != nil {
		return s, err
	}
	mapped, err := os.ReadFile(proc + "/maps")
	if err != nil {
		return s, err
	}
	s.mappings = bytes.Count(mapped, []byte{'\n'})
	if err := s.readDescriptors(proc + "/fdinfo"); err != nil {
		return s, err
	}
	s.open = opened(proc + "/fd")
	parts, err := filepath.Glob(recording + "*")
	for _, p := range parts {
		if st, err := os.Stat(p); err == nil {
			s.file += st.Size()
		}
	}
	return s, err
}

// readStat reads RSS and CPU time (proc_pid_stat(5)).
func (s *sample) readStat(proc string) error {
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime, rss = 11, 12, 21 // behind the name
	if len(fields) <= rss {
		return fmt.Errorf("%s/stat: %q", proc, stat)
	}
	for _, i := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return err
		}
		s.ticks += n
	}
	pages, err := strconv.ParseInt(fields[rss], 10, 64)
	s.rss = pages * int64(os.Getpagesize())
	return err
}

// ownMemory is RssAnon of proc_pid_status(5), bytes. The rest of RSS is the program's file, and the rings by which the
// kernel hands over records: they have their size from the start, and count as soon as they were touched once.
func ownMemory(proc string) (int64, error) {
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s/status has no RssAnon", proc)
}

// readDescriptors counts descriptors, and links, programs and maps by their ids: a program may have a descriptor of its
// own and a link's.
func (s *sample) readDescriptors(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	s.descriptors = len(entries)
	ids := map[string]map[string]bool{"link_id:": {}, "prog_id:": {}, "map_id:": {}}
	for _, e := range entries {
		info, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(info)) {
			if f := strings.Fields(line); len(f) == 2 && ids[f[0]] != nil {
				ids[f[0]][f[1]] = true
			}
		}
	}
	s.links, s.programs, s.maps = len(ids["link_id:"]), len(ids["prog_id:"]), len(ids["map_id:"])
	return nil
}

// opened counts descriptors by what they are of: a path, or a kind without its number.
func opened(dir string) map[string]int {
	list, _ := os.ReadDir(dir) // it says why a bound is broken, and is not judged itself
	of := map[string]int{}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			if to[0] != '/' {
				to = strings.Map(withoutDigits, to)
			}
			of[to]++
		}
	}
	return of
}

func withoutDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// more says what there is more of than before, and how many of these descriptors may be there. Those are of files that
// a running program maps, whose stacks the tracer reads, as mapped reports; and one of the recording: SQLite keeps it
// when a connection is closed while another one has the file locked, and takes it for the next one.
func more(now, before map[string]int, recording string, mapped func(path string) bool) (list []string, may int) {
	for _, what := range slices.Sorted(maps.Keys(now)) {
		n := now[what] - before[what]
		switch {
		case n <= 0:
		case what == recording && n == 1:
			may++
			list = append(list, "1 more of the recording, which SQLite keeps for the next connection")
		case mapped(what):
			may += n
			list = append(list, fmt.Sprintf("%d more of %s, which a running program maps", n, what))
		default:
			list = append(list, fmt.Sprintf("%d more of %s", n, what))
		}
	}
	return list, may
}

// mappedByAny reports whether a process has mapped a file.
func mappedByAny(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	all, _ := filepath.Glob("/proc/[0-9]*/maps") // the pattern is right
	return slices.ContainsFunc(all, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && bytes.Contains(text, []byte(" "+path+"\n"))
	})
}

// follow sets what needs the reading before.
func (s *sample) follow(before *sample) {
	seconds := s.at.Sub(before.at).Seconds()
	if before.life != s.life || seconds <= 0 {
		return
	}
	const ticksPerSecond = 100 // USER_HZ, the same on all Linux systems (proc(5))
	s.rates = true
	s.cpu = float64(s.ticks-before.ticks) / ticksPerSecond / seconds
	s.grown = float64(s.file-before.file) / seconds
}

// Children are the processes that a process has started, or that have become its own.
func Children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	for _, f := range files {
		list, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
