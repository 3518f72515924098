package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/discover"
)

// fileKey identifies a library file attached to, in one process or in all (pid 0).
type fileKey struct {
	dev, ino uint64
	pid      int
}

// targets tracks which library files are attached to and which processes are traced. Named
// processes get their own links, so that other processes have no overhead. Without names, one link
// a file serves every process.
type targets struct {
	tracer      *probe.Tracer
	libs        []*probe.Library
	finder      *discover.Finder
	fs          proc.FS
	log         *slog.Logger
	named       bool         // only processes in processTree
	uid         int          // the user whose processes join processTree; AnyUser: none
	processTree map[int]bool // named processes and their descendants

	attached   map[fileKey]*probe.Attachment // nil: attaching failed
	names      map[fileKey]string            // what the process calls the file
	users      fileUsers
	found      map[fileKey]bool // files on disk that were attached to before any process mapped them
	lasting    map[uint64]bool  // file systems that nobody can want to unmount
	used       map[string]bool  // names of all files ever attached to, at most maxUsed
	traced     map[int]bool     // processes known to use a library
	late       time.Duration    // total time in which processes had a library that was not attached to yet
	refused    *limit.Log
	files      limit.Patient // for what finder and file systems say
	probing    limit.Patient
	silence    time.Time // when it was said that one does not answer
	arrived    limit.Late[fileKey, attachment]
	answers    limit.Late[int, []discover.File] // what processes have mapped
	looking    probe.Mapped                     // for which one is looked at
	unanswered bool                             // in this look
	adoptAgain []int                            // processes whose threads could not be adopted
	hurried    bool                             // between two drains
	held       bool                             // no more files are attached to for now
	mapping    mappings                         // processes that have just mapped a file
	pending    pendingMaps                      // mappings by processes that may turn out to be in processTree
	scanned    time.Time                        // time of the last scan of all processes
	self       int
}

func newTargets(t *probe.Tracer, libs []*probe.Library, f proc.FS, log *slog.Logger, o *Options) *targets {
	x := &targets{
		tracer: t, libs: libs, finder: discover.New(f, libs), fs: f, log: log,
		named: len(o.PIDs) > 0 || o.UID != AnyUser || len(o.Command) > 0, uid: o.UID,
		processTree: map[int]bool{}, attached: map[fileKey]*probe.Attachment{}, names: map[fileKey]string{},
		traced: map[int]bool{}, self: os.Getpid(), users: newFileUsers(), found: map[fileKey]bool{},
		lasting: lastingFileSystems(), used: map[string]bool{}, mapping: newMappings(),
		refused: limit.NewLog(log), files: limit.Patient{Wait: startPatience}, probing: limit.Patient{Wait: startPatience},
	}
	x.finder.Eager = x.named // they have few files
	for _, p := range o.PIDs {
		x.processTree[p] = true
	}
	x.descendants()
	return x
}

// patterns are the file names of all libraries.
func (x *targets) patterns() []*regexp.Regexp {
	var r []*regexp.Regexp
	for _, l := range x.libs {
		r = append(r, l.File)
	}
	return r
}

// wants reports whether a process is to be traced.
func (x *targets) wants(pid int) bool {
	switch {
	case pid == x.self:
		return false
	case !x.named || x.processTree[pid]:
		return true
	case x.uid == AnyUser:
		return false
	}
	uid, err := x.fs.UID(pid)
	return err == nil && int(uid) == x.uid
}

// scan attaches to the libraries that the wanted processes have mapped now.
func (x *targets) scan() error {
	if err := x.scanOnce(); err != nil {
		return err
	}
	// From here on the kernel reports processes that named ones start; some may have been started just before.
	if x.named && x.descendants() {
		return x.scanOnce()
	}
	return nil
}

func (x *targets) scanOnce() error {
	pids, err := x.fs.PIDs()
	if err != nil {
		return err
	}
	var adopt []int
	for _, pid := range pids {
		if !x.wants(pid) {
			continue
		}
		known := x.traced[pid]
		any, fresh := x.process(pid)
		if any && !known {
			adopt = append(adopt, pid)
		}
		if fresh && !x.scanned.IsZero() {
			x.late += time.Since(x.scanned) // at most
		}
	}
	x.scanned = time.Now()
	adopt = append(adopt, x.adoptAgain...)
	for pid := range x.processTree { // named processes are accounted for even before they load a library
		if !slices.Contains(adopt, pid) {
			adopt = append(adopt, pid)
		}
	}
	x.adoptAgain = nil
	err = x.tracer.Adopt(adopt...)
	if err != nil {
		x.adoptAgain = adopt
	}
	return err
}

// process attaches to the libraries that a process has mapped. It reports whether there are any,
// and whether one is newly attached to.
func (x *targets) process(pid int) (any, fresh bool) {
	files, known := x.answers.Take(pid)
	if !known {
		var err error
		files, err = limit.Within(&x.files, func() ([]discover.File, error) { return x.finder.Process(pid) },
			func(files []discover.File) { x.answers.Put(pid, files) })
		if errors.Is(err, limit.ErrNoAnswer) {
			x.silent(pid)
			return x.traced[pid], false // what it had is still attached to
		}
		if err != nil {
			return false, false // it ended, or is a kernel thread
		}
	}
	x.unanswered = false
	var mapped []fileKey
	began := time.Now()
	for i := range files {
		f := &files[i]
		if f.Library == nil {
			continue // known, but there is no probe for it
		}
		any = true
		if err := limit.Check("files of a process with functions to probe", uint64(len(mapped))+1, limit.FilesOfProcess,
			"files"); err != nil {
			x.refused.Refused(f.Mapping.Path, err)
			break
		}
		x.held = x.hurried && time.Since(began) > attachTurn
		if f.Err != nil {
			x.log.Warn("library cannot be opened", "pid", pid, "file", f.Mapping.Path, "err", f.Err)
			continue
		}
		key, now := x.attach(f.Library, f.Path, f.Mapping.Path, pid)
		fresh = fresh || now
		if x.attached[key] != nil {
			mapped = append(mapped, key)
		}
	}
	if x.held { // the others after the next drain
		x.held = false
		x.again(pid)
	}
	if x.unanswered { // what it had it may still have
		for k := range x.users.files[pid] {
			mapped = append(mapped, k)
		}
	}
	x.users.set(pid, mapped, time.Now())
	if any {
		x.traced[pid] = true
		if x.named {
			x.processTree[pid] = true
		}
	}
	return any, fresh
}

// attach attaches to a library file, once for each file and process or once for each file. It
// reports whether it did so now. path opens the file; name is what it is called.
func (x *targets) attach(lib *probe.Library, path, name string, pid int) (key fileKey, fresh bool) {
	key, err := x.keyOf(path)
	if errors.Is(err, limit.ErrNoAnswer) {
		x.silent(pid)
		return key, false
	}
	if err != nil {
		x.log.Warn("library was removed before it could be attached to", "file", path, "err", err)
		return key, false
	}
	if x.named {
		key.pid = pid
	}
	if _, ok := x.attached[key]; ok {
		return key, false
	}
	if x.held {
		return key, false
	}
	if !x.named {
		n := uint64(len(x.attached)) + 1
		if err := limit.Check("files with functions to probe", n, limit.AttachedFiles, "files"); err != nil {
			x.refused.Refused(name, err)
			return key, false
		}
	}
	a, err := x.attachTo(key, lib, path, name)
	if err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return key, false // the process ended
		}
		if errors.Is(err, limit.ErrNoAnswer) {
			x.silent(pid)
			return key, false
		}
		x.log.Warn("cannot attach", "file", path, "pid", pid, "err", err)
		x.failed(key)
		return key, false
	}
	x.keepAttached(key, a, name, time.Now())
	return key, true
}

// installed attaches to libraries on disk that no process has loaded yet: for every process, or for
// one that is about to start.
func (x *targets) installed(extra []string, pid int) {
	for _, path := range cudalib.Installed(extra, x.patterns()...) {
		lib := x.finder.Library(path)
		if lib == nil || !x.named && !x.lastsAt(path) {
			continue
		}
		if key, fresh := x.attach(lib, path, path, pid); fresh {
			x.found[key] = true
		}
	}
}

// forked gives a new process its parent's links. at is when it began, by the kernel's clock.
func (x *targets) forked(parent, child int, at uint64) {
	if x.traced[parent] {
		x.traced[child] = true
		x.users.inherit(parent, child, time.Now())
	}
	if !x.named || !x.processTree[parent] {
		return
	}
	x.processTree[child] = true
	late := time.Duration(0)
	x.pending.of(uint32(child), func(m *probe.Mapped) { late = max(late, since(m.At)) })
	x.late += late
	inherit := map[fileKey]*probe.Attachment{}
	for k, a := range x.attached {
		if k.pid == parent && a != nil {
			inherit[k] = a
		}
	}
	for k, a := range inherit {
		// The parent may be gone by now; the child has the same files mapped.
		path := a.Path
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("/proc/%d/", parent)); ok {
			path = fmt.Sprintf("/proc/%d/%s", child, rest)
		}
		if got, err := x.keyOf(path); err != nil || got.dev != k.dev || got.ino != k.ino {
			x.process(child) // the path now leads to another file
			continue
		}
		x.attach(a.Library, path, x.names[k], child)
	}
	// Mappings that the parent made just before are not reported yet. What the child called until now is not known.
	if any, _ := x.process(child); any && len(inherit) > 0 {
		x.late += since(at)
	}
}

// replaced attaches again to the libraries of a process in which another thread replaced the first
// one by executing a program: the kernel ties the links of a process to the task of its first
// thread.
func (x *targets) replaced(pid int) {
	x.unlink(pid)
	x.process(pid)
}

// exited forgets a process and closes its links.
func (x *targets) exited(pid int) {
	if m, due := x.mapping.first[pid]; due {
		x.unnoticed(m)
		delete(x.mapping.first, pid)
	}
	x.answers.Take(pid) // of no use any more
	delete(x.processTree, pid)
	delete(x.traced, pid)
	x.unlink(pid)
	x.users.gone(pid, time.Now())
}

// unlink closes the links of a process.
func (x *targets) unlink(pid int) {
	for k := range x.attached {
		if k.pid == pid && pid != 0 {
			x.release(k)
		}
	}
}

// firstCall makes sure that a process that calls a library is traced with all its threads, also if
// its mapping was not noticed.
func (x *targets) firstCall(pid int) bool {
	if x.traced[pid] {
		return false
	}
	x.traced[pid] = true
	if err := x.tracer.Adopt(pid); err != nil {
		x.log.Warn("cannot record where the threads' time goes", "pid", pid, "err", err)
	}
	return true
}

// watched are the processes whose use of the host is recorded: those that use a library, and named
// ones.
func (x *targets) watched() map[int]bool {
	if len(x.processTree) == 0 {
		return x.traced
	}
	all := maps.Clone(x.processTree)
	maps.Copy(all, x.traced)
	return all
}

// libraries lists the names of the files attached to, now or before, without duplicates.
func (x *targets) libraries() []string {
	return slices.Sorted(maps.Keys(x.used))
}
