package agent

import (
	"errors"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/framework"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// maxLibraries is how many library files are recorded of a process; PyTorch uses some 30. maxImages is
// how many are remembered, some 300 bytes each.
const (
	maxLibraries = 64
	maxImages    = 1024
)

// libraries finds the files of CUDA's libraries and of frameworks that traced processes use. A file is
// read once, however many processes use it. The loop owns it.
type libraries struct {
	fs     proc.FS
	log    *slog.Logger
	images map[fileContent]image
	used   map[int]*usedFiles // by process
	fresh  []store.Library    // not in a batch yet
	files  limit.Patient
	again  map[int]bool // processes of which nothing could be said in time
}

// usedFiles are the library files of a process that are recorded.
type usedFiles struct {
	files  map[usedFile]bool
	looked bool // all its mappings were looked at
	full   bool // there are more than maxLibraries
}

type usedFile struct {
	path string
	fileContent
}

// fileContent is a file and what is in it: inode numbers are used again. The zero value is one that
// could not be read.
type fileContent struct {
	dev, ino         uint64
	size, modifiedNS int64
}

// image is what a file says of itself.
type image struct{ soname, buildID string }

func newLibraries(f proc.FS, log *slog.Logger) *libraries {
	return &libraries{
		fs: f, log: log, images: map[fileContent]image{}, used: map[int]*usedFiles{}, again: map[int]bool{},
		files: limit.Patient{Wait: startPatience},
	}
}

func (l *libraries) follower(x *targets) follower {
	all := func() {
		for pid := range x.watched() {
			l.look(pid)
		}
	}
	return follower{
		start:     func(*beginning) { all() },
		rescanned: all,
		traced:    l.look,
		mapped: func(m probe.Mapped) {
			if x.traced[m.PID] || x.processTree[m.PID] {
				l.mapped(m)
			}
		},
		life: l.life,
		second: func(s *second) {
			l.files.Wait = patience
			for pid := range l.again {
				if l.files.Stuck() {
					break
				}
				delete(l.again, pid)
				l.look(pid)
			}
			b := &s.item.batch
			b.Libraries, l.fresh = append(b.Libraries, l.fresh...), l.fresh[:0]
		},
		ended: func(ends []event.Life) {
			for pid := range processesOf(ends) {
				delete(l.used, int(pid))
				delete(l.again, int(pid))
			}
		},
	}
}

// life handles a process that began, and the first call of a thread: a child of a traced process is not
// reported as traced.
func (l *libraries) life(e *event.Life) {
	pid := int(e.PID)
	switch {
	case e.Kind == event.LifeFork && e.PID == e.TID:
		delete(l.used, pid) // of an old process with the same pid
	case e.Kind == event.LifeFirst && !l.of(pid).looked:
		l.look(pid)
	}
}

func (l *libraries) of(pid int) *usedFiles {
	u := l.used[pid]
	if u == nil {
		u = &usedFiles{files: map[usedFile]bool{}}
		l.used[pid] = u
	}
	return u
}

// isLibrary reports whether a file of this name is recorded.
func isLibrary(path string) bool {
	return strings.Contains(path, ".so") && (cudalib.IsLibrary(path) || framework.IsLibrary(path))
}

// look records the libraries that a process has mapped.
func (l *libraries) look(pid int) {
	l.of(pid).looked = true
	list, err := l.fs.Maps(pid)
	if err != nil {
		return // it ended
	}
	for _, m := range list {
		if m.Exec && isLibrary(m.Path) {
			l.record(pid, m)
		}
	}
}

// mapped records a library that a process has mapped just now.
func (l *libraries) mapped(m probe.Mapped) {
	if !isLibrary(m.Path) || l.record(m.PID, proc.Mapping{Path: m.Path, Inode: m.Inode}) || l.again[m.PID] {
		return
	}
	l.look(m.PID)
	for f := range l.of(m.PID).files {
		if f.path == m.Path {
			return
		}
	}
	l.addImage(m.PID, usedFile{path: m.Path}, image{}) // the process or the file is gone: only the name is known
}

// record records a file that a process has mapped. It reports whether the file could be read.
func (l *libraries) record(pid int, m proc.Mapping) bool {
	type opened struct {
		path string
		fileContent
	}
	o, err := limit.Within(&l.files, func() (o opened, err error) {
		if o.path, err = l.fs.Open(pid, m); err != nil {
			return o, err
		}
		s, err := statOf(o.path)
		if err != nil {
			return o, err
		}
		o.fileContent = fileContent{uint64(s.Dev), s.Ino, s.Size, s.Mtim.Nano()}
		return o, nil
	}, nil)
	if err == nil {
		var i image
		if i, err = l.image(o.path, o.fileContent); err == nil {
			l.addImage(pid, usedFile{m.Path, o.fileContent}, i)
		}
	}
	if errors.Is(err, limit.ErrNoAnswer) {
		l.again[pid] = true
	}
	return err == nil
}

// image reads what the file at path says of itself, or remembers it.
func (l *libraries) image(path string, c fileContent) (image, error) {
	if i, ok := l.images[c]; ok {
		return i, nil
	}
	i, err := limit.Within(&l.files, func() (image, error) {
		f, err := cudalib.OpenImage(path)
		if err != nil {
			return image{}, nil // it says nothing
		}
		defer f.Close()
		return image{f.Soname(), f.BuildID()}, nil
	}, nil)
	if err != nil {
		return i, err
	}
	if len(l.images) >= maxImages {
		clear(l.images)
	}
	l.images[c] = i
	return i, nil
}

// addImage records a file, if it is not recorded yet.
func (l *libraries) addImage(pid int, f usedFile, i image) {
	u := l.of(pid)
	if u.files[f] || u.full {
		return
	}
	if u.full = len(u.files) >= maxLibraries; u.full {
		l.log.Warn("this process uses more libraries of CUDA and frameworks than are recorded", "pid", pid,
			"recorded", maxLibraries)
		return
	}
	u.files[f] = true
	r := store.Library{
		At: uint64(time.Now().UnixNano()), PID: uint32(pid), Name: libraryName(f.path, i.soname),
		Path: strings.ToValidUTF8(f.path, "\uFFFD"), BuildID: i.buildID, Size: uint64(f.size),
	}
	r.Version = libraryVersion(f.path, r.Name)
	l.fresh = append(l.fresh, r)
}

// libraryName is what a library calls itself, else the name of its file.
func libraryName(path, soname string) string {
	if soname != "" && !strings.Contains(soname, "/") && utf8.ValidString(soname) {
		return soname
	}
	return strings.ToValidUTF8(filepath.Base(path), "\uFFFD")
}

var versionNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

// libraryVersion is the version in the first of these names that has one, empty if none has.
func libraryVersion(names ...string) string {
	for _, n := range names {
		if v := cudalib.VersionOf(n); versionNumber.MatchString(v) {
			return v
		}
	}
	return ""
}
